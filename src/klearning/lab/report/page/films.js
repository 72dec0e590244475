// Learning as a film: one panel a run, one clock for all. A layer of the world is a row of cells.
class Frames {
  constructor(film, stage) {
    const text = atob(film.data), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    Object.assign(this, film, { stage, frames: film.t.length, view: new DataView(bytes.buffer) });
  }

  // the last frame at or before episode t; the first where there is none
  frame(t) {
    let k = 0;
    while (k + 1 < this.frames && this.t[k + 1] <= t) k++;
    return k;
  }
}

class Film extends Frames {
  constructor(film, stage) {
    const { policy, ...rest } = film;
    super(rest, stage);
    Object.assign(this, { policyKept: policy, actions: stage.next.length, states: stage.rows.reduce((a, b) => a + b, 0) });
    this.size = this.states * (2 + 2 * this.actions + (policy ? this.actions - 1 : 0));
  }

  share(k, s) { return this.view.getUint16(k * this.size + 2 * s, true) / 65535; }
  value(k, s) { return this.low[k] + this.share(k, s) * (this.high[k] - this.low[k]); }
  visited(k, a, s) { return this.view.getUint16(k * this.size + 2 * (this.states * (1 + a) + s), true) * this.unit[k]; }

  visits(k, s) {
    let total = 0;
    for (let a = 0; a < this.actions; a++) total += this.visited(k, a, s);
    return total;
  }

  // chances of the actions; where the store has no policies, the shares in which they were taken
  policy(k, s) {
    const found = new Array(this.actions).fill(0);
    if (this.policyKept) {
      let rest = 1;
      for (let a = 1; a < this.actions; a++) {
        found[a] = this.view.getUint8(k * this.size + this.states * (2 + 2 * this.actions + a - 1) + s) / 255;
        rest -= found[a];
      }
      found[0] = Math.max(0, rest);
      return found;
    }
    const total = this.visits(k, s);
    return total ? found.map((_, a) => this.visited(k, a, s) / total) : null;
  }
}

function mix(a, b, share) {
  const channel = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "rgb(" + [0, 1, 2].map((i) => Math.round(channel(a, i) + (channel(b, i) - channel(a, i)) * share)).join(",") + ")";
}

// What shows one film: a list to choose it from, a canvas, a scale, facts. A subclass draws.
class Screen {
  constructor(place, player, chosen) {
    this.player = player;
    this.root = make("div", { class: "panel" }, place);
    this.select = make("select", { "aria-label": "Run shown in this panel" }, this.root);
    player.reel.stages.forEach((stage, number) => {
      const group = make("optgroup", { label: stage.title }, this.select);
      player.reel.films.forEach((film, i) => {
        if (film.stage === number) make("option", { value: i }, group, `${film.label} · seed ${film.seed}`);
      });
    });
    this.canvas = make("canvas", { role: "img" }, this.root);
    const scale = make("div", { class: "scale" }, this.root);
    this.least = make("span", {}, scale);
    make("i", {}, scale);
    this.most = make("span", {}, scale);
    this.facts = make("p", { class: "facts" }, this.root);
    this.tip = make("div", { class: "tip", hidden: "" }, this.root);
    this.root.style.position = "relative";
    this.select.addEventListener("change", () => { this.load(Number(this.select.value)); player.retime(); });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.load(chosen);
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  load(i) {
    this.select.value = String(i);
    this.film = this.player.film(i);
    this.tip.hidden = true;
  }

  draw() {
    const width = this.root.clientWidth;
    if (!width || this.player.t === undefined) return;
    this.k = this.film.frame(this.player.t);
    this.paint(width);
    this.words();
  }

  // a clean sheet of this height, in sharp pixels
  sheet(width, height) {
    const sharp = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * sharp);
    this.canvas.height = Math.round(height * sharp);
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    return pen;
  }

  // numbers with their names beside the pointer
  tell(event, title, lines) {
    const box = this.canvas.getBoundingClientRect();
    this.tip.replaceChildren();
    make("strong", {}, this.tip, title);
    const body = make("table", {}, this.tip);
    for (const [name, number] of lines) { const line = make("tr", {}, body); make("td", {}, line, name); make("td", {}, line, number); }
    const x = event.clientX - box.left, space = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - space))}px`;
    this.tip.style.top = `${event.clientY - box.top + this.canvas.offsetTop + 18}px`;
  }
}

// A world: a row of cells for every layer.
class Grid extends Screen {
  paint(width) {
    const rows = this.film.stage.rows;
    const widest = Math.max(...rows), cell = Math.min(width / widest, (width * 1.25) / rows.length);
    const pen = this.sheet(width, Math.ceil(cell * rows.length));
    this.cell = cell;
    this.margin = (width - cell * widest) / 2;
    pen.translate(this.margin, 0);
    this.cells(pen);
  }

  // between 0 and 1, how dark a cell is
  darkness() {
    const { film, k } = this;
    if (this.player.what === "value") return (s) => film.share(k, s);
    let most = 1;
    for (let s = 0; s < film.states; s++) most = Math.max(most, film.visits(k, s));
    this.mostVisits = most;
    return (s) => Math.log1p(film.visits(k, s)) / Math.log1p(most);
  }

  cells(pen) {
    const { film, cell, player } = this, dark = this.darkness();
    const [light, full] = [colour("--cell"), colour(player.what === "value" ? "--ramp" : "--ramp2")];
    const [ink, paper, line] = [colour("--ink"), colour("--paper"), colour("--line")];
    const gap = cell > 7 ? 1 : cell > 4 ? 0.5 : 0;
    let s = 0;
    film.stage.rows.forEach((width, row) => {
      for (let column = 0; column < width; column++, s++) {
        const share = dark(s);
        pen.fillStyle = mix(light, full, share);
        pen.fillRect(column * cell, row * cell, cell - gap, cell - gap);
        if (share < 0.06 && gap) { pen.strokeStyle = line; pen.lineWidth = 0.5; pen.strokeRect(column * cell + 0.25, row * cell + 0.25, cell - gap - 0.5, cell - gap - 0.5); }
        if (player.arrows) this.arrow(pen, s, row, column, share > 0.5 ? paper : ink);
        if (s === film.stage.goal) { pen.strokeStyle = colour("--gold"); pen.lineWidth = Math.max(1.5, cell / 8); pen.strokeRect(column * cell + 0.5, row * cell + 0.5, cell - gap - 1, cell - gap - 1); }
      }
    });
  }

  arrow(pen, s, row, column, ink) {
    const chances = this.film.policy(this.k, s);
    if (!chances) return;
    const best = chances.indexOf(Math.max(...chances)), to = this.film.stage.next[best][s];
    const sure = (chances[best] - 1 / chances.length) / (1 - 1 / chances.length);
    if (to < 0 || sure < 0.04) return;
    const { cell } = this, size = Math.hypot(to - column, 1), dx = (to - column) / size, dy = 1 / size;
    const x = (column + 0.48) * cell, y = (row + 0.48) * cell, half = cell * 0.3;
    pen.globalAlpha = 0.2 + 0.7 * sure;
    pen.strokeStyle = ink;
    pen.lineWidth = Math.max(0.7, cell / 13);
    pen.beginPath();
    pen.moveTo(x - half * dx, y - half * dy);
    pen.lineTo(x + half * dx, y + half * dy);
    if (cell >= 8) {
      const head = cell * 0.2;
      for (const turn of [2.5, -2.5]) {
        const [c, n] = [Math.cos(turn), Math.sin(turn)];
        pen.moveTo(x + half * dx, y + half * dy);
        pen.lineTo(x + half * dx + head * (dx * c - dy * n), y + half * dy + head * (dx * n + dy * c));
      }
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  words() {
    const { film, k, player } = this, value = player.what === "value";
    this.least.textContent = value ? show(film.low[k]) : "0";
    this.most.textContent = value ? show(film.high[k]) : show(this.mostVisits);
    this.facts.replaceChildren();
    if (film.found) {
      make("b", {}, this.facts, show(film.found[k]));
      this.facts.append(film.found[k] === 1 ? " time found · " : " times found · ");
    }
    this.facts.append(`${film.measure || "regret"} `);
    make("b", {}, this.facts, show(film.regret[k]));
    if (!film.policyKept) this.facts.append(" · arrows: the action taken most (this run kept no policies)");
    const found = film.found ? `, ${film.stage.prize} found ${film.found[k]} times` : "";
    this.canvas.setAttribute("aria-label",
      `${film.label}, ${film.stage.title}: ${value ? "values" : "visits"} after ${film.t[k]} episodes, from ${this.least.textContent} to ${this.most.textContent}${found}`);
  }

  // the middle of a cell of a plane, in the numbers that it is of
  whereabouts(row, column) {
    const [across, up] = this.film.stage.axes, rows = this.film.stage.rows, side = rows[0];
    const at = (axis, share) => `${axis.name} ${show(axis.low + share * (axis.high - axis.low))}`;
    return `${at(across, (column + 0.5) / side)}, ${at(up, 1 - (row + 0.5) / rows.length)}`;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect(), { film, cell, k } = this;
    const column = Math.floor((event.clientX - box.left - this.margin) / cell), row = Math.floor((event.clientY - box.top) / cell);
    const rows = film.stage.rows;
    this.tip.hidden = !(row >= 0 && row < rows.length && column >= 0 && column < rows[row]);
    if (this.tip.hidden) return;
    let s = column;
    for (let l = 0; l < row; l++) s += rows[l];
    const chances = film.policy(k, s);
    const lines = [["value", show(film.value(k, s))], ["visits", show(Math.round(film.visits(k, s)))]];
    if (chances) chances.forEach((p, a) => lines.push([`chance of ${film.stage.actions[a]}`, p.toFixed(2)]));
    this.tell(event, film.stage.axes ? this.whereabouts(row, column) : `row ${row + 1}, column ${column + 1}`, lines);
  }
}

const grids = {
  Film, Screen: Grid, unit: "episode", title: "Film of learning",
  options(player, box) {
    for (const [value, words] of [["value", "value"], ["visits", "visits (log)"]]) {
      const label = make("label", {}, box);
      const radio = make("input", { type: "radio", name: "what", value }, label);
      radio.checked = value === player.what;
      label.append(words);
      radio.addEventListener("change", () => { player.what = value; player.place.classList.toggle("visits", value === "visits"); player.draw(); });
    }
    // in a plane actions lead to no cell of the next row
    if (player.reel.stages.some((stage) => !stage.axes)) player.switch(box, "policy arrows", "arrows");
  },
};

// One clock for all screens of a reel; a kind says what they are and which options they have.
class Player {
  constructor(place, reel, kind) {
    Object.assign(this, { what: "value", arrows: true, playing: null, place, reel, kind, decoded: new Map() });
    this.controls(make("div", { class: "player", role: "group", "aria-label": kind.title }, place));
    this.panels = [];
    const row = make("div", { class: "panels" }, place);
    for (const chosen of reel.opening) this.panels.push(new kind.Screen(row, this, chosen));
    this.spoken = make("p", { class: "spoken", "aria-live": "polite" }, place);
    this.retime();
    place.addEventListener("keydown", (event) => this.key(event));
    onTheme.push(() => this.draw());
  }

  controls(bar) {
    this.button = make("button", { type: "button", class: "play" }, bar, "▶ Play");
    this.clock = make("output", {}, bar);
    this.slider = make("input", { type: "range", min: 0, step: 1, value: 0, "aria-label": this.kind.unit[0].toUpperCase() + this.kind.unit.slice(1) }, bar);
    const options = make("div", { class: "options" }, bar);
    this.kind.options(this, options);
    const keys = make("span", { class: "keys" }, options);
    for (const [key, words] of [["space", " play · "], ["←", " "], ["→", " step"]]) { make("kbd", {}, keys, key); keys.append(words); }
    this.button.addEventListener("click", () => this.toggle());
    this.slider.addEventListener("input", () => { this.stop(); this.go(Number(this.slider.value), true); });
  }

  film(i) {
    const { films, stages } = this.reel;
    if (!this.decoded.has(i)) this.decoded.set(i, new this.kind.Film(films[i], stages[films[i].stage]));
    return this.decoded.get(i);
  }

  // a box to tick that turns a property of the player on and off
  switch(place, words, property) {
    const label = make("label", {}, place);
    const box = make("input", { type: "checkbox" }, label);
    box.checked = this[property];
    label.append(words);
    box.addEventListener("change", () => { this[property] = box.checked; this.draw(); });
  }

  // the clock ticks at every time at which some panel has a frame
  retime() {
    this.times = [...new Set(this.panels.flatMap((panel) => panel.film.t))].sort((a, b) => a - b);
    this.slider.max = this.times.length - 1;
    const now = this.t === undefined ? 0 : this.times.findLastIndex((t) => t <= this.t);
    this.go(Math.max(0, now), false);
  }

  go(i, say) {
    this.i = Math.max(0, Math.min(i, this.times.length - 1));
    this.t = this.times[this.i];
    this.slider.value = this.i;
    this.slider.setAttribute("aria-valuetext", `${this.kind.unit} ${this.t}`);
    this.clock.textContent = `${this.kind.unit} ${show(this.t)}`;
    this.draw();
    if (say) this.spoken.textContent = this.panels.map((p) => p.canvas.getAttribute("aria-label")).join(". ");
  }

  draw() { this.panels.forEach((panel) => panel.draw()); }

  toggle() {
    if (this.playing !== null) { this.stop(); return; }
    if (this.i === this.times.length - 1) this.go(0, false);
    this.button.textContent = "❚❚ Pause";
    this.playing = setInterval(() => {
      if (this.i === this.times.length - 1) this.stop();
      else this.go(this.i + 1, false);
    }, calm.matches ? 700 : 140);
  }

  stop() {
    if (this.playing !== null) clearInterval(this.playing);
    this.playing = null;
    this.button.textContent = "▶ Play";
  }

  key(event) {
    const on = event.target.tagName, kind = event.target.type;
    if (on === "SELECT" || kind === "radio" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && on !== "BUTTON" && kind !== "checkbox") { event.preventDefault(); this.toggle(); }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { event.preventDefault(); this.stop(); this.go(this.i + step, true); }
  }
}
