// Curves with bands: log or linear axes, a legend that toggles, and a read-out by pointer, finger or arrow keys.
const DASHES = ["", "7 4", "2 4", "9 4 2 4"];

function ticks(low, high, log, count) {
  const found = [];
  if (log) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const step = Math.max(1, Math.ceil((last - first) / count));
    for (let e = first; e <= last; e += step) found.push(10 ** e);
    if (last - first <= 2) for (let e = first; e <= last; e++) found.push(2 * 10 ** e, 5 * 10 ** e);
  } else {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
    for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-9); i++) found.push(i * step);
  }
  return found.filter((t) => t >= low * (1 - 1e-9) && t <= high * (1 + 1e-9)).sort((a, b) => a - b);
}

function scale(low, high, from, to, log) {
  const map = log ? Math.log : (x) => x;
  const a = map(low), b = map(high);
  return (x) => from + (map(x) - a) / (b - a || 1) * (to - from);
}

class Chart {
  constructor(place, chart) {
    this.place = place;
    this.chart = chart;
    this.on = chart.series.map(() => true);
    this.xLog = chart.x_log;
    this.yLog = chart.y_log;
    this.at = null;
    this.xs = [...new Set(chart.series.flatMap((s) => s.x))].sort((a, b) => a - b);
    this.build();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  build() {
    const tools = make("div", { class: "tools" }, this.place);
    this.axisBox(tools, "logarithmic y", "yLog");
    this.axisBox(tools, "logarithmic x", "xLog");
    const name = this.place.parentElement.id;
    this.canvas = make("div", {
      class: "canvas", tabindex: "0", role: "application", "aria-labelledby": `${name}-title`, "aria-describedby": `${name}-see`,
      "aria-roledescription": "chart: left and right arrow keys read its values",
    }, this.place);
    this.svg = shape("svg", { "aria-hidden": "true" }, this.canvas);
    this.tip = make("div", { class: "tip", hidden: "" }, this.canvas);
    this.spoken = make("p", { class: "spoken", "aria-live": "polite" }, this.place);
    this.legend();
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.canvas.addEventListener("blur", () => this.read(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  axisBox(tools, words, which) {
    const label = make("label", {}, tools);
    const box = make("input", { type: "checkbox", "data-axis": which }, label);
    box.checked = this[which];
    label.append(words);
    box.addEventListener("change", () => { this[which] = box.checked; this.draw(); });
  }

  legend() {
    const list = make("ul", { class: "legend", "aria-label": "Curves: press to hide or show" }, this.place);
    this.chart.series.forEach((series, i) => {
      const button = make("button", { type: "button", "aria-pressed": "true" }, make("li", {}, list));
      const swatch = shape("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" }, button);
      shape("line", { x1: 1, y1: 6, x2: 25, y2: 6, stroke: `var(--c${series.colour})`, "stroke-width": 2.6, "stroke-dasharray": DASHES[series.line] }, swatch);
      button.append(series.label);
      button.addEventListener("click", () => {
        this.on[i] = !this.on[i];
        button.setAttribute("aria-pressed", String(this.on[i]));
        this.draw();
      });
      for (const [event, which] of [["pointerenter", i], ["focus", i], ["pointerleave", null], ["blur", null]])
        button.addEventListener(event, () => this.highlight(which));
    });
    if (this.chart.series.length < 3) return;
    const all = make("button", { type: "button", class: "all" }, make("li", {}, list), "hide all");
    all.addEventListener("click", () => {
      const show = !this.on.some(Boolean);
      this.on.fill(show);
      list.querySelectorAll("[aria-pressed]").forEach((b) => b.setAttribute("aria-pressed", String(show)));
      this.draw();
    });
    this.all = all;
  }

  highlight(which) {
    this.svg.querySelectorAll("[data-series]").forEach((part) => {
      part.classList.toggle("dimmed", which !== null && this.on[which] && part.dataset.series !== String(which));
    });
  }

  ranges() {
    const shown = this.chart.series.filter((_, i) => this.on[i]);
    const curves = [...(shown.length ? shown : this.chart.series), ...this.chart.references.filter((r) => this.yLog || r.label === "cap")];
    const ys = curves.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])])
      .filter((y) => y !== null && (!this.yLog || y > 0));
    const xs = this.xs.filter((x) => !this.xLog || x > 0);
    let low = Math.min(...ys), high = Math.max(...ys);
    if (!ys.length) [low, high] = [0.1, 1];
    if (this.yLog) { low = Math.max(low, high / 1e6); if (high / low < 10) { low = high / 10; } }
    else { low = Math.min(0, low); if (high <= low) high = low + 1; }
    return { x: [xs[0], xs[xs.length - 1]], y: [low, this.yLog ? high * 1.15 : high + (high - low) * 0.04] };
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const height = Math.round(Math.min(430, Math.max(270, width * 0.52)));
    const { x, y } = this.ranges();
    const box = { left: 58, right: width - 14, top: 24, bottom: height - 42 };
    this.X = scale(x[0], x[1], box.left, box.right, this.xLog);
    this.Y = scale(y[0], y[1], box.bottom, box.top, this.yLog);
    Object.assign(this, { box, width, low: y[0], top: y[1] });
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.axes(x, y, box, height);
    const clip = `clip-${this.place.dataset.chart}`;
    shape("rect", { x: box.left - 6, y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 7 },
      shape("clipPath", { id: clip }, this.svg));
    const inner = shape("g", { "clip-path": `url(#${clip})` }, this.svg);
    this.references(inner);
    this.chart.series.forEach((series, i) => { if (this.on[i]) this.band(series, i, inner); });
    this.chart.series.forEach((series, i) => { if (this.on[i]) this.curve(series, i, inner); });
    this.overlay = shape("g", {}, this.svg);
    if (this.all) this.all.textContent = this.on.some(Boolean) ? "hide all" : "show all";
    this.read(this.at);
  }

  axes(x, y, box, height) {
    for (const t of ticks(y[0], y[1], this.yLog, 6)) {
      shape("line", { x1: box.left, x2: box.right, y1: this.Y(t), y2: this.Y(t), class: "grid" }, this.svg);
      shape("text", { x: box.left - 8, y: this.Y(t) + 4, "text-anchor": "end", class: "tick" }, this.svg, show(t));
    }
    const few = this.xs.length <= 12 && !this.xLog;
    let last = -Infinity;
    for (const t of few ? this.xs : ticks(x[0], x[1], this.xLog, Math.max(3, Math.round(this.width / 110)))) {
      if (this.X(t) - last < 26) continue;
      last = this.X(t);
      shape("line", { x1: this.X(t), x2: this.X(t), y1: box.bottom, y2: box.bottom + 5, class: "grid" }, this.svg);
      shape("text", { x: this.X(t), y: box.bottom + 19, "text-anchor": "middle", class: "tick" }, this.svg, show(t));
    }
    shape("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "grid" }, this.svg);
    shape("text", { x: box.right, y: height - 5, "text-anchor": "end", class: "axis" }, this.svg, this.chart.x_label);
    shape("text", { x: 2, y: 12, class: "axis" }, this.svg, this.chart.y_label);
  }

  // the points that can be drawn, in runs without a gap
  pieces(series, ys) {
    const found = [[]];
    series.x.forEach((x, i) => {
      const y = ys[i];
      if (y === null || y === undefined || (this.xLog && x <= 0)) { if (found[found.length - 1].length) found.push([]); return; }
      found[found.length - 1].push([this.X(x), this.Y(this.yLog ? Math.max(y, this.low / 10) : y), i]);
    });
    return found.filter((piece) => piece.length);
  }

  path(points) { return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""); }

  references(parent) {
    for (const reference of this.chart.references) {
      for (const piece of this.pieces(reference, reference.y)) {
        shape("path", { d: this.path(piece), class: "reference", "stroke-dasharray": DASHES[reference.line] }, parent);
        const seen = piece.filter(([, y]) => y > this.box.top + 4 && y < this.box.bottom);
        const at = seen[Math.floor(seen.length * 0.55)];
        if (at) shape("text", { x: at[0], y: at[1] - 6, class: "reference-name", "text-anchor": "end" }, parent, reference.label);
      }
    }
  }

  band(series, i, parent) {
    if (!series.low) return;
    const high = series.high.map((h, k) => (series.low[k] === null ? null : h === null ? this.top * 2 : h));
    const tops = this.pieces(series, high), floors = this.pieces(series, series.low);
    tops.forEach((top, k) => {
      if (!floors[k] || top.length !== floors[k].length) return;
      const d = this.path([...top, ...floors[k].slice().reverse()]) + "Z";
      shape("path", { d, class: "band", fill: `var(--c${series.colour})`, "data-series": i }, parent);
    });
  }

  curve(series, i, parent) {
    const group = shape("g", { "data-series": i, "data-label": series.label }, parent);
    for (const piece of this.pieces(series, series.y)) {
      shape("path", { d: this.path(piece), class: "curve", stroke: `var(--c${series.colour})`, "stroke-dasharray": DASHES[series.line] }, group);
      if (series.x.length <= 20)
        for (const [x, y] of piece) shape("circle", { cx: x, cy: y, r: 3.6, class: "dot", fill: `var(--c${series.colour})` }, group);
    }
  }

  point(event) {
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    const usable = this.xs.map((v, i) => [Math.abs(this.X(v) - x), i]).filter(([d]) => Number.isFinite(d));
    this.read(usable.reduce((a, b) => (b[0] < a[0] ? b : a))[1]);
  }

  key(event) {
    const last = this.xs.length - 1, at = this.at === null ? -1 : this.at;
    const to = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
    if (event.key === "Escape") this.read(null);
    if (to === undefined) return;
    event.preventDefault();
    this.read(to);
    this.spoken.textContent = `${this.chart.x_label} ${show(this.xs[to])}: ` + this.rows(to).map((r) => `${r.label} ${r.text}`).join("; ");
  }

  // what is known at the i-th x, the greatest first
  rows(i) {
    const found = [];
    this.chart.series.forEach((series, k) => {
      const j = series.x.indexOf(this.xs[i]);
      if (!this.on[k] || j < 0) return;
      const y = series.y[j];
      let more = series.low && series.low[j] !== null ? ` [${show(series.low[j])}, ${series.high[j] === null ? "cap" : show(series.high[j])}]` : "";
      if (series.note) more += ` ${series.note[j]}`;
      if (y === null && !series.note) return;
      found.push({ label: series.label, y, colour: series.colour, number: show(y), more, text: show(y) + more });
    });
    return found.sort((a, b) => (b.y === null ? Infinity : b.y) - (a.y === null ? Infinity : a.y) || 0);
  }

  read(i) {
    this.at = i;
    this.overlay.replaceChildren();
    this.tip.hidden = i === null;
    if (i === null) return;
    const x = this.X(this.xs[i]), rows = this.rows(i);
    shape("line", { x1: x, x2: x, y1: this.box.top, y2: this.box.bottom, class: "cross" }, this.overlay);
    this.tip.replaceChildren();
    make("strong", {}, this.tip, `${this.chart.x_label.replace(/ L$/, "")} ${show(this.xs[i])}`);
    const body = make("table", {}, this.tip);
    for (const row of rows) {
      const line = make("tr", {}, body);
      const name = make("td", {}, line);
      make("span", {}, name, "● ").style.color = `var(--c${row.colour})`;
      name.append(row.label);
      make("td", {}, line, row.number);
      make("td", { class: "more" }, line, row.more);
      if (row.y !== null && this.Y(row.y) <= this.box.bottom)
        shape("circle", { cx: x, cy: this.Y(row.y), r: 4.2, class: "dot", fill: `var(--c${row.colour})` }, this.overlay);
    }
    const space = this.tip.offsetWidth, right = x + 14 + space > this.width;
    this.tip.style.left = `${Math.max(0, Math.min(right ? x - 14 - space : x + 14, this.width - space))}px`;
    this.tip.style.top = `${this.box.top}px`;
  }
}
