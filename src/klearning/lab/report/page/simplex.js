// A match as a film: both mixtures of three moves are points of one triangle, whose corners are the moves.
class Mixtures extends Frames {
  // 0: ours, 1: the opponent's, 2 and 3: the shares of their moves so far
  mixture(k, which) {
    return [0, 1, 2].map((j) => this.view.getUint16(2 * (12 * k + 3 * which + j), true) / 65535);
  }
}

class Triangle extends Screen {
  paint(width) {
    const side = Math.min(width - 24, 420), top = 28, tall = (side * Math.sqrt(3)) / 2;
    const left = (width - side) / 2, pen = this.sheet(width, Math.ceil(top + tall + 24));
    this.corners = [[width / 2, top], [left, top + tall], [left + side, top + tall]];
    const { payoffs, value, equilibrium } = this.film.stage;
    this.loss = (x) => Math.max(0, value - Math.min(...payoffs.map((row) => row[0] * x[0] + row[1] * x[1] + row[2] * x[2])));
    this.worst = Math.max(...[[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(this.loss));
    this.ground(pen, side);
    this.names(pen, width);
    const [ink, paper, ours] = [colour("--ink"), colour("--paper"), colour("--ramp2")];
    this.cross(pen, equilibrium, ink);
    if (this.player.trail) this.trail(pen, ours);
    if (this.player.shares) {
      this.disc(pen, this.film.mixture(this.k, 2), 4, ours, paper);
      this.disc(pen, this.film.mixture(this.k, 3), 4, paper, ink);
    }
    this.diamond(pen, this.film.mixture(this.k, 1), paper, ink);
    this.disc(pen, this.film.mixture(this.k, 0), 7, ours, paper);
  }

  place(x) {
    return [0, 1].map((axis) => this.corners.reduce((sum, corner, j) => sum + x[j] * corner[axis], 0));
  }

  // what could be taken from a mixture, in small triangles
  ground(pen, side) {
    const n = Math.max(12, Math.min(48, Math.round(side / 6))), [light, full] = [colour("--cell"), colour("--ramp")];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n - i; j++) {
        this.patch(pen, [[i + 1, j], [i, j + 1], [i, j]], n, light, full);
        if (i + j < n - 1) this.patch(pen, [[i + 1, j], [i, j + 1], [i + 1, j + 1]], n, light, full);
      }
    }
    pen.strokeStyle = colour("--soft");
    pen.lineWidth = 1;
    this.path(pen, this.corners);
    pen.stroke();
  }

  patch(pen, points, n, light, full) {
    const corners = points.map(([i, j]) => [i / n, j / n, (n - i - j) / n]);
    const middle = [0, 1, 2].map((m) => (corners[0][m] + corners[1][m] + corners[2][m]) / 3);
    pen.fillStyle = pen.strokeStyle = mix(light, full, this.worst ? this.loss(middle) / this.worst : 0);
    pen.lineWidth = 0.7;
    this.path(pen, corners.map((x) => this.place(x)));
    pen.fill();
    pen.stroke();
  }

  path(pen, points) {
    pen.beginPath();
    points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
  }

  names(pen, width) {
    pen.fillStyle = colour("--soft");
    pen.font = `12px ${colour("--sans")}`;
    const [above, left, right] = this.film.stage.moves, below = this.corners[1][1] + 17;
    for (const [words, x, y, align] of [[above, width / 2, 14, "center"], [left, this.corners[1][0], below, "left"], [right, this.corners[2][0], below, "right"]]) {
      pen.textAlign = align;
      pen.fillText(words, x, y, align === "center" ? width : width / 2 - 4);
    }
  }

  cross(pen, x, ink) {
    const [a, b] = this.place(x);
    pen.strokeStyle = ink;
    pen.lineWidth = 1.2;
    pen.beginPath();
    pen.moveTo(a - 5, b); pen.lineTo(a + 5, b); pen.moveTo(a, b - 5); pen.lineTo(a, b + 5);
    pen.stroke();
  }

  // our mixtures of the frames before, fading
  trail(pen, ink) {
    const most = 30;
    for (let k = Math.max(1, this.k - most); k <= this.k; k++) {
      pen.globalAlpha = 0.1 + 0.6 * (1 - (this.k - k) / most);
      pen.strokeStyle = ink;
      pen.lineWidth = 1.3;
      pen.beginPath();
      pen.moveTo(...this.place(this.film.mixture(k - 1, 0)));
      pen.lineTo(...this.place(this.film.mixture(k, 0)));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  disc(pen, x, radius, inside, line) {
    pen.beginPath();
    pen.arc(...this.place(x), radius, 0, 2 * Math.PI);
    this.fill(pen, inside, line);
  }

  diamond(pen, x, inside, line) {
    const [a, b] = this.place(x), r = 8;
    this.path(pen, [[a, b - r], [a + r, b], [a, b + r], [a - r, b]]);
    this.fill(pen, inside, line);
  }

  fill(pen, inside, line) {
    pen.fillStyle = inside;
    pen.strokeStyle = line;
    pen.lineWidth = 1.8;
    pen.fill();
    pen.stroke();
  }

  words() {
    const { film, k } = this, x = film.mixture(k, 0), chances = (mixture) => film.stage.moves.map((move, j) => `${move} ${mixture[j].toFixed(2)}`).join(", ");
    this.least.textContent = "0";
    this.most.textContent = show(this.worst);
    this.facts.replaceChildren();
    this.facts.append("could be taken ");
    make("b", {}, this.facts, this.loss(x).toFixed(2));
    this.facts.append(" a round · regret ");
    make("b", {}, this.facts, show(film.regret[k]));
    this.canvas.setAttribute("aria-label",
      `${film.label}, ${film.stage.title}, round ${film.t[k]}: ours ${chances(x)}; the opponent’s ${chances(film.mixture(k, 1))}; ${this.loss(x).toFixed(2)} could be taken from ours`);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect(), [[, top], [left, bottom], [right]] = this.corners;
    const first = (bottom - (event.clientY - box.top)) / (bottom - top), last = (event.clientX - box.left - left) / (right - left) - first / 2;
    const x = [first, 1 - first - last, last];
    this.tip.hidden = x.some((share) => share < 0);
    if (this.tip.hidden) return;
    const lines = this.film.stage.moves.map((move, j) => [move, x[j].toFixed(2)]);
    this.tell(event, "a mixture", [...lines, ["could be taken", this.loss(x).toFixed(2)]]);
  }
}

const triangles = {
  Film: Mixtures, Screen: Triangle, unit: "round", title: "Film of matches",
  options(player, box) {
    Object.assign(player, { trail: true, shares: true });
    player.switch(box, "trail", "trail");
    player.switch(box, "shares of moves so far", "shares");
  },
};
