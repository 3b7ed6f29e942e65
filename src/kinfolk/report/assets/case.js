"use strict";
// Attention in one sub-graph: a panel for each form of attention, the same node shown in all of them.
{
  const SVG = "http://www.w3.org/2000/svg";
  const OTHER_CLASSES = ["#009e73", "#cc79a7", "#e69f00", "#8a8f98"]; // the class of the probe has --kin
  const WIDTH = 260, TOP = 6, LEFT = 42, RIGHT = 168, NODE = 9, BARS = 182, STRIP = 2;
  const LINES = 280; // of one panel, when no node is chosen: more cannot be distinguished

  const HINTS = {
    lines: each => `Left: a node. Right: the ${each} nodes it attends to most, itself not counted. Point at a node or use the arrow keys; click or Enter keeps it.`,
    matrix: () => "Rows attend to columns. Point at a cell or use the arrow keys; click or Enter keeps the row.",
  };

  const sum = values => values.reduce((total, value) => total + value, 0);
  const range = count => [...Array(count).keys()];
  const percent = share => `${(100 * share).toFixed(0)} %`;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function element(name, attributes, parent, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  /** The classes of a study with their nodes: the probe's first, then the largest. */
  function classesOf(labels) {
    const members = new Map();
    labels.forEach((label, node) => members.set(label, [...(members.get(label) || []), node]));
    const others = [...members.keys()].filter(label => label !== labels[0]);
    others.sort((a, b) => members.get(b).length - members.get(a).length || members.get(a)[0] - members.get(b)[0]);
    return [labels[0], ...others].map(label => ({ label, nodes: members.get(label) }));
  }

  /** What is read off a study: weights along lines from or to a node, shares, partners. */
  function readStudy(data) {
    const count = data.nodes.length, nodes = range(count);
    const classes = classesOf(data.labels);
    const color = new Map(classes.map(({ label }, i) =>
      [label, i === 0 ? "var(--kin)" : OTHER_CLASSES[(i - 1) % OTHER_CLASSES.length]]));
    const largest = Math.max(1e-9, ...data.forms.flatMap(form =>
      form.weights.map((row, i) => Math.max(0, ...row.filter((_, j) => j !== i)))));
    const study = {
      ...data, count, classes, largest,
      kin: (i, j) => data.labels[i] === data.labels[j],
      color: node => color.get(data.labels[node]),
      strength: (weight, most = largest) => Math.sqrt(clamp(weight / most, 0, 1)),
      orders: { class: classes.flatMap(group => group.nodes), rank: nodes },
      along: (form, side, node) => nodes.map(other => side === "from" ? form.weights[node][other] : form.weights[other][node]),
      say: node => `${data.nodes[node]}, class ${data.labels[node]}`,
    };
    study.ownShare = (form, side, node) => {
      const weights = study.along(form, side, node).map((weight, other) => other === node ? 0 : weight);
      return sum(weights.filter((_, other) => study.kin(node, other))) / (sum(weights) || 1);
    };
    study.strongest = (form, side, node) => {
      const weights = study.along(form, side, node), others = nodes.filter(other => other !== node);
      return others.length ? others.reduce((best, other) => weights[other] > weights[best] ? other : best) : node;
    };
    study.largestBut = (side, node) => Math.max(1e-9, ...data.forms.map(form =>
      study.along(form, side, node)[study.strongest(form, side, node)]));
    study.each = Math.min(clamp(Math.round(LINES / count), 2, 6), count - 1);
    study.overview = form => nodes
      .flatMap(i => nodes.filter(j => j !== i).sort((a, b) => form.weights[i][b] - form.weights[i][a])
        .slice(0, study.each).map(j => [i, j]))
      .sort(([a, b], [c, d]) => form.weights[a][b] - form.weights[c][d]);
    return study;
  }

  /** Two columns of nodes; a line from each node to those it attends to. */
  class LinesView {
    constructor(study, form, order) {
      Object.assign(this, { study, form, order, step: clamp(540 / study.count, 4.2, 14) });
      this.place = [];
      order.forEach((node, row) => { this.place[node] = TOP + (row + 0.5) * this.step; });
      this.height = 2 * TOP + study.count * this.step;
      this.element = document.createElementNS(SVG, "svg");
      this.element.setAttribute("viewBox", `0 0 ${WIDTH} ${this.height}`);
      this.element.setAttribute("aria-hidden", "true");
      this.overview = element("g", {}, this.element);
      for (const [i, j] of study.overview(form)) this.line(this.overview, i, j, { faint: 0.06, strong: 0.5, width: 1.5 });
      this.chosen = element("g", {}, this.element);
      for (const x of [LEFT - NODE, RIGHT]) order.forEach(node => this.node(this.element, x, node, {}));
      element("text", { x: 0, y: this.place[0] + 3 }, this.element, "probe");
      this.names = element("g", {}, this.element);
      this.nameClasses();
    }

    node(parent, x, node, attributes) {
      const height = Math.max(this.step - 1, 2);
      element("rect", {
        x, y: this.place[node] - height / 2, width: NODE, height, rx: Math.min(3, height / 3),
        fill: this.study.color(node), ...attributes,
      }, parent);
    }

    line(parent, i, j, { faint, strong, width, most }) {
      const t = this.study.strength(this.form.weights[i][j], most), middle = (LEFT + RIGHT) / 2;
      const [y, z] = [this.place[i], this.place[j]];
      element("path", {
        d: `M${LEFT} ${y}C${middle} ${y} ${middle} ${z} ${RIGHT} ${z}`, fill: "none",
        stroke: `var(--${this.study.kin(i, j) ? "kin" : "stranger"})`,
        "stroke-width": (0.3 + width * t).toFixed(2), opacity: (faint + (strong - faint) * t).toFixed(2),
      }, parent);
    }

    nameClasses() {
      const rows = this.order.map(node => this.study.labels[node]);
      for (const { label, nodes } of this.study.classes) {
        const first = rows.indexOf(label), together = rows.lastIndexOf(label) - first + 1 === nodes.length;
        if (together && nodes.length * this.step >= 11) {
          element("text", { x: BARS, y: TOP + (first + nodes.length / 2) * this.step + 3.5 }, this.names, `class ${label}`);
        }
      }
    }

    show(side, node, partner, most) {
      this.chosen.replaceChildren();
      this.overview.style.display = this.names.style.display = side === null ? "" : "none";
      if (side === null) return;
      const weights = this.study.along(this.form, side, node), height = Math.max(this.step - 2, 2.5);
      weights.forEach((weight, other) => {
        if (other === node) return; // its weight on itself is the largest and would dwarf the others
        const [i, j] = side === "from" ? [node, other] : [other, node];
        if (weight > 0) this.line(this.chosen, i, j, { faint: 0.12, strong: 0.95, width: 4.5, most });
        if (side === "from") {
          element("rect", {
            x: BARS, y: this.place[other] - height / 2, width: 74 * weight / most, height,
            fill: `var(--${this.study.kin(node, other) ? "kin" : "stranger"})`,
          }, this.chosen);
        }
      });
      element("text", { x: BARS, y: this.place[node] + 3.5 }, this.chosen, `itself ${weights[node].toFixed(2)}`);
      const ring = { fill: "none", stroke: "var(--ink)", "stroke-width": 1.6 };
      this.node(this.chosen, side === "from" ? LEFT - NODE : RIGHT, node, ring);
      this.node(this.chosen, side === "from" ? RIGHT : LEFT - NODE, partner, { ...ring, "stroke-dasharray": "2 1.5" });
    }

    /** The node at a place of the panel, both from 0 to 1. */
    at(x, y) {
      const row = clamp(Math.floor((y * this.height - TOP) / this.step), 0, this.study.count - 1);
      return { [x * WIDTH < (LEFT + RIGHT) / 2 ? "from" : "to"]: this.order[row] };
    }
  }

  const theme = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const parts = color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16));

  /** Rows attend to columns. */
  class MatrixView {
    constructor(study, form, order) {
      Object.assign(this, { study, form, order, cell: Math.max(4, Math.floor(720 / study.count)), cells: study.count + STRIP });
      this.row = [];
      order.forEach((node, row) => { this.row[node] = row; });
      this.element = this.canvas();
      this.element.setAttribute("aria-hidden", "true");
      this.picture = this.canvas();
      this.paint(this.picture.getContext("2d"));
    }

    canvas() {
      const made = document.createElement("canvas");
      made.width = made.height = this.cell * this.cells;
      return made;
    }

    paint(context) {
      const { study, cell } = this;
      const [paper, kin, stranger] = ["--paper", "--kin", "--stranger"].map(name => parts(theme(name)));
      const fill = (color, x, y, width, height) => {
        context.fillStyle = color;
        context.fillRect(x * cell, y * cell, width * cell, height * cell);
      };
      this.order.forEach((i, row) => {
        const color = study.color(i), solid = color.startsWith("var") ? theme(color.slice(4, -1)) : color;
        fill(solid, 0, STRIP + row, STRIP * 0.7, 1);
        fill(solid, STRIP + row, 0, 1, STRIP * 0.7);
        this.order.forEach((j, column) => {
          const t = study.strength(this.form.weights[i][j]), ink = study.kin(i, j) ? kin : stranger;
          fill(`rgb(${paper.map((value, k) => Math.round(value + (ink[k] - value) * t))})`, STRIP + column, STRIP + row, 1, 1);
        });
      });
    }

    show(side, node, partner) {
      const { cell, element: { width } } = this, context = this.element.getContext("2d");
      context.clearRect(0, 0, width, width);
      context.drawImage(this.picture, 0, 0);
      if (side === null) return;
      const [i, j] = (side === "from" ? [node, partner] : [partner, node]).map(chosen => (STRIP + this.row[chosen]) * cell);
      context.strokeStyle = theme("--ink");
      context.lineWidth = 2;
      context.strokeRect(1, i, width - 2, cell);
      context.strokeRect(j, 1, cell, width - 2);
    }

    at(x, y) {
      const [column, row] = [x, y].map(place => clamp(Math.floor(place * this.cells) - STRIP, 0, this.study.count - 1));
      return { from: this.order[row], to: this.order[column] };
    }
  }

  const VIEWS = { lines: LinesView, matrix: MatrixView };

  function start(root) {
    const study = readStudy(JSON.parse(root.querySelector("script").textContent));
    const state = { view: "lines", order: "class", from: null, to: null, side: "from", pinned: null };
    const panels = [...root.querySelectorAll(".form")].map((form, i) => ({
      form: study.forms[i], place: form.querySelector(".view"), readout: form.querySelector(".readout"), view: null,
    }));
    const said = root.querySelector(".said");

    function build() {
      root.querySelector(".hint").textContent = HINTS[state.view](study.each);
      for (const panel of panels) {
        panel.view = new VIEWS[state.view](study, panel.form, study.orders[state.order]);
        panel.place.replaceChildren(panel.view.element);
      }
      show();
    }

    /** The chosen node, on which side it is, and the one on the other side, if that is chosen too. */
    function choice() {
      if (state.from === null && state.to === null) return { side: null };
      const side = state.pinned ? state.pinned.side : state.from !== null ? "from" : "to";
      return { side, node: state[side], other: state[side === "from" ? "to" : "from"] };
    }

    function show() {
      const { side, node, other } = choice();
      const most = side === null ? 1 : study.largestBut(side, node);
      for (const { form, view, readout } of panels) {
        if (side === null) {
          view.show(null);
          readout.textContent = "";
          continue;
        }
        const partner = other ?? study.strongest(form, side, node);
        view.show(side, node, partner, most);
        readout.textContent = read(form, side, node, partner, other === null);
      }
      const kept = state.pinned ? " \u00b7 kept, Escape lets it go" : "";
      const text = side === null ? "" : `${study.say(node)}, cosine to the probe ${study.similarities[0][node].toFixed(2)}${kept}`;
      if (said.textContent !== text) said.textContent = text;
    }

    function read(form, side, node, partner, isStrongest) {
      const [i, j] = side === "from" ? [node, partner] : [partner, node];
      const most = isStrongest ? " most" : "";
      const verb = side === "from" ? `attends${most} to` : `is attended to${most} by`;
      const own = percent(study.ownShare(form, side, node));
      const share = side === "from" ? `${own} of its attention to others stays in its class` : `${own} of the attention it gets is from its class`;
      return `${verb} ${study.say(partner)}\nweight ${form.weights[i][j].toFixed(3)}, cosine ${study.similarities[i][j].toFixed(2)}\n${share}`;
    }

    function point(place) {
      const { pinned } = state;
      Object.assign(state, { from: null, to: null }, place, pinned ? { [pinned.side]: pinned.node } : {});
      show();
    }

    function toggle(side, node) {
      const { pinned } = state;
      state.pinned = pinned && pinned.side === side && pinned.node === node ? null : { side, node };
      point({});
    }

    function step(side, by) {
      const order = study.orders[state.order], { pinned } = state;
      const row = state[side] === null ? 0 : clamp(order.indexOf(state[side]) + by, 0, study.count - 1);
      if (pinned && pinned.side === side) pinned.node = order[row];
      const otherSide = side === "from" ? "to" : "from";
      point({ [side]: order[row], ...(state.view === "matrix" ? { [otherSide]: state[otherSide] } : {}) });
    }

    function press(event) {
      const matrix = state.view === "matrix", lines = !matrix;
      const act = {
        ArrowUp: () => step(matrix ? "from" : state.side, -1),
        ArrowDown: () => step(matrix ? "from" : state.side, 1),
        ArrowLeft: () => { if (lines) state.side = "from"; step(lines ? "from" : "to", lines ? 0 : -1); },
        ArrowRight: () => { if (lines) state.side = "to"; step("to", lines ? 0 : 1); },
        Home: () => step(matrix ? "from" : state.side, -study.count),
        End: () => step(matrix ? "from" : state.side, study.count),
        Enter: () => { const { side, node } = choice(); if (side !== null) toggle(side, node); },
        Escape: () => { state.pinned = null; point({}); },
      }[event.key];
      if (act) {
        event.preventDefault();
        act();
      }
    }

    const where = (view, event) => {
      const box = view.element.getBoundingClientRect();
      return view.at((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    };
    for (const panel of panels) {
      const { place, form } = panel;
      place.tabIndex = 0;
      place.setAttribute("role", "application");
      place.setAttribute("aria-label", `${form.name}: attention between nodes. Up and down choose a node, left and right the side, Enter keeps it.`);
      place.addEventListener("pointermove", event => point(where(panel.view, event)));
      place.addEventListener("pointerleave", () => point({}));
      place.addEventListener("click", event => {
        const [side, node] = Object.entries(where(panel.view, event))[0];
        toggle(side, node);
      });
      place.addEventListener("keydown", press);
      place.addEventListener("blur", () => point({}));
    }
    for (const key of ["view", "order"]) {
      const buttons = [...root.querySelectorAll(`button[data-${key}]`)];
      for (const button of buttons) {
        button.addEventListener("click", () => {
          state[key] = button.dataset[key];
          for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
          build();
        });
      }
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
    build();
  }

  document.querySelectorAll(".case").forEach(start);
}
