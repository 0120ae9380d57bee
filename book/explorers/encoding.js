// The encoding explorer: a position as a clock with many hands.
//
// A hand that has turned by an angle, clockwise from the top, ends at (sine, cosine): so a pair of
// dimensions is drawn as the hand that it is.
(function () {
  "use strict";

  const { make, makeSvg, scroller, reveal, format, number, agrees, inLedger } = tfm;
  const { UNITS, dot, frequencies, sinusoidalEncoding, shiftMatrix } = tfm.ref;
  const POSITIONS = 60; // the last position that can be chosen
  const SHIFT = 20; // the longest shift, to either side
  const FACE = "-1.2 -1.2 2.4 2.4"; // a dial, whose hands have length 1

  // --- what is computed -----------------------------------------------------------------------

  const range = (from, to, step = 1) =>
    Array.from({ length: Math.round((to - from) / step) + 1 }, (_, n) => from + n * step);

  const times = (matrix, vector) => matrix.map((row) => dot(row, vector));

  // All that one picture shows.
  function compute({ position, d, unit, shift, show, pair }) {
    const j = Math.min(pair, d / 2 - 1);
    const delta = show === "numbers" ? 0 : shift;
    const [here, there] = sinusoidalEncoding([position, position + delta], d, unit);
    const omega = frequencies(d);
    return { position, d, unit, show, j, delta, here, there, omega, matrix: shiftMatrix(delta, d, unit) };
  }

  // --- numbers --------------------------------------------------------------------------------

  // Two decimals, and more for a number that would show as 0.00.
  function digitsFor(value) {
    const leadingZeros = value === 0 ? 0 : -Math.floor(Math.log10(Math.abs(value)));
    return Math.min(Math.max(1 + leadingZeros, 2), 6);
  }

  // --- a hand ---------------------------------------------------------------------------------

  // Clockwise from the top: the point where a hand of this length ends.
  const tip = ([sine, cosine], length = 1) => [sine * length, -cosine * length];

  function line(from, to, attributes) {
    return makeSvg("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...attributes });
  }

  const pairOf = (vector, j) => [vector[2 * j], vector[2 * j + 1]];

  function hands(view, j) {
    const moved = view.delta === 0 ? null
      : line([0, 0], tip(pairOf(view.there, j)), { class: "tfm-there", "data-hand": `there-${j}` });
    return [moved, line([0, 0], tip(pairOf(view.here, j)), { class: "tfm-here", "data-hand": `here-${j}` })];
  }

  const face = () => [
    makeSvg("circle", { r: 1.12, class: "tfm-face" }),
    [[0, 1], [1, 0], [0, -1], [-1, 0]].map((mark) => line(tip(mark, 0.98), tip(mark, 1.12), { class: "tfm-mark" })),
  ].flat();

  // One small dial for each pair, to choose among: radio buttons that look like clocks.
  function dials(explorer, view) {
    const buttons = view.omega.map((omega, j) => make("label", { class: "tfm-dial" },
      make("input", {
        type: "radio", name: `${explorer.id}.dial`, value: j, checked: j === view.j,
        "data-key": `${explorer.id}.dial-${j}`, "aria-label": `Hand ${j}, dimensions ${2 * j} and ${2 * j + 1}`,
        onchange: () => explorer.set({ pair: j }),
      }),
      makeSvg("svg", { viewBox: FACE, "aria-hidden": "true" }, face(), hands(view, j)),
      make("span", { "aria-hidden": "true" }, view.d <= 32 ? `hand ${j}` : String(j))));
    const size = view.d <= 16 ? "4.6rem" : view.d <= 32 ? "3.7rem" : "2.6rem";
    return make("fieldset", { class: "tfm-dials", style: `--dial:${size}` },
      make("legend", {}, view.d === 2 ? "One hand" : `${view.d / 2} hands, from fast to slow. Choose one:`),
      make("div", {}, buttons));
  }

  // --- the chosen hand ------------------------------------------------------------------------

  // The way from one hand to the other: a spiral, so that full turns can be counted.
  function sweep(view) {
    if (view.delta === 0) return null;
    const unit = UNITS[view.unit] * view.omega[view.j];
    const start = view.position * unit;
    const turn = view.delta * unit;
    const parts = Math.max(2, Math.ceil(Math.abs(turn) * 12));
    const points = range(0, parts).map((n) => {
      const angle = start + (turn * n) / parts;
      return tip([Math.sin(angle), Math.cos(angle)], 0.35 + (0.3 * n) / parts).map((x) => x.toFixed(3)).join();
    });
    return makeSvg("polyline", { points: points.join(" "), class: "tfm-sweep" });
  }

  function bigDial(view) {
    const [sine, cosine] = pairOf(view.here, view.j);
    const end = tip([sine, cosine]);
    const label = `Hand ${view.j}: its end lies as far to the right as its sine and as high as its cosine`;
    return makeSvg("svg", { viewBox: FACE, class: "tfm-big", role: "img", "aria-label": label },
      face(),
      line([0, 0], [0, -cosine], { class: "tfm-cosine" }),
      line([0, -cosine], end, { class: "tfm-sine" }),
      sweep(view),
      hands(view, view.j),
      makeSvg("circle", { r: 0.06, class: "tfm-hub" }));
  }

  function anglesOf(view) {
    const turned = view.position * view.omega[view.j];
    const unit = view.unit === "degrees" ? "°" : " rad";
    const [sine, cosine] = pairOf(view.here, view.j);
    return make("p", { class: "tfm-angle" },
      make("span", {}, "angle ", number("angle", turned, digitsFor(turned)), unit),
      make("span", { class: "tfm-key" }, "sine ", number("sine", sine)),
      make("span", { class: "tfm-key tfm-key-cosine" }, "cosine ", number("cosine", cosine)));
  }

  // --- charts ---------------------------------------------------------------------------------

  // Curves over an axis; a click picks the nearest whole x. The drawing is stretched to its box; words and
  // dots must not be, so they stand outside of it.
  function chart({ label, from, to, low, high, curves, marks, ticks, caption, onpick }) {
    const across = (x) => ((x - from) / (to - from)) * 100;
    const down = (y) => ((high - y) / (high - low)) * 100;
    const path = (points) => points.map(([x, y]) => `${across(x).toFixed(2)},${down(y).toFixed(2)}`).join(" ");
    const pick = (event) => {
      const { left, width } = box.getBoundingClientRect();
      onpick(Math.round(from + ((event.clientX - left) / width) * (to - from)));
    };
    const box = make("div", { class: "tfm-plot", role: "img", "aria-label": label, onclick: pick },
      makeSvg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" },
        line([0, down(0)], [100, down(0)], { class: "tfm-axis" }),
        marks.map(({ x, kind }) => line([across(x), 0], [across(x), 100], { class: `tfm-at tfm-at-${kind}` })),
        curves.map(({ points, kind }) => makeSvg("polyline", { points: path(points), class: `tfm-curve tfm-${kind}` }))),
      marks.flatMap(({ x, ys, kind }) => ys.map((y) =>
        make("i", { class: `tfm-dot tfm-dot-${kind}`, style: `left:${across(x)}%;top:${down(y)}%` }))));
    return make("div", { class: "tfm-chart" }, box,
      make("div", { class: "tfm-ticks", "aria-hidden": "true" },
        ticks.map((x) => make("span", { style: `left:${across(x)}%` }, format(x, 0)))),
      make("p", { class: "tfm-caption" }, caption));
  }

  function wave(explorer, view) {
    const margin = view.show === "numbers" ? 2 : SHIFT; // room for where a shift may lead
    const [from, to] = [-margin, POSITIONS + margin];
    const positions = range(from, to, 0.25);
    const pairs = sinusoidalEncoding(positions.map((x) => x * view.omega[view.j]), 2, view.unit); // of this hand alone
    const curve = (part, kind) => ({ kind, points: positions.map((x, n) => [x, pairs[n][part]]) });
    const marks = [{ kind: "here", x: view.position, ys: pairOf(view.here, view.j) }];
    if (view.delta !== 0) marks.push({ kind: "there", x: view.position + view.delta, ys: pairOf(view.there, view.j) });
    const [even, odd] = [2 * view.j, 2 * view.j + 1];
    return chart({
      label: `Dimensions ${even} and ${odd} over the positions: a sine and a cosine wave. ${rounds(view)}`,
      from, to, low: -1.15, high: 1.15, marks, ticks: range(0, POSITIONS, 10),
      curves: [curve(1, "cosine"), curve(0, "sine")],
      caption: `Dimensions ${even} (sine) and ${odd} (cosine) over the positions. ${rounds(view)}`,
      onpick: (x) => explorer.set({ position: Math.min(Math.max(x, 0), POSITIONS) }),
    });
  }

  function rounds(view) {
    const steps = (2 * Math.PI) / (view.omega[view.j] * UNITS[view.unit]);
    return `Once round in ${steps < 20 ? format(steps, 1) : Math.round(steps).toLocaleString("en-GB")} positions.`;
  }

  // --- the vector -----------------------------------------------------------------------------

  // A table with a column for each dimension; the columns of the chosen hand are marked.
  function table(view, rows) {
    const chosen = (n) => (Math.floor(n / 2) === view.j ? "tfm-chosen" : null);
    const head = make("tr", {}, make("th", { scope: "row" }, "dimension"),
      view.here.map((_, n) => make("th", { scope: "col", class: chosen(n) }, String(n))));
    const body = rows.map(({ label, cells }) =>
      make("tr", {}, make("th", { scope: "row" }, label), cells.map((cell, n) => make("td", { class: chosen(n) }, cell))));
    return scroller("The numbers, dimension by dimension",
      make("table", { class: "tfm-vector" }, make("thead", {}, head), make("tbody", {}, body)));
  }

  // In a wide table, the numbers of a hand come into view when it is chosen; later the reader may scroll away.
  function scrollToChosen(explorer, view, place) {
    const table = place.querySelector(".tfm-vector");
    const chosen = table && `${view.show} ${view.d} ${view.j}`;
    if (!table || chosen === explorer.scrolledTo) return;
    explorer.scrolledTo = chosen;
    const [names, box] = [table.querySelector("th"), table.parentElement];
    reveal(box, [...table.querySelectorAll("th.tfm-chosen")], names.offsetWidth);
    // The names cover what is beneath them: half a number beside them would be misread.
    const edge = names.getBoundingClientRect().right;
    const columns = [...table.querySelectorAll("thead th[scope=col]")].map((column) => column.getBoundingClientRect());
    const halved = columns.find(({ left, right }) => left < edge - 1 && right > edge + 1);
    if (halved) box.scrollLeft += halved.right - edge;
  }

  const cells = (name, vector, digits) => vector.map((value, n) => number(`${name}-${n}`, value, digits));

  const turnOfHand = (view) => view.here.map((_, n) => {
    const omega = view.omega[Math.floor(n / 2)];
    return n % 2 ? "" : number(`omega-${n / 2}`, omega, digitsFor(omega));
  });

  function numbersPanel(explorer, view) {
    const printed = printedFor(explorer, view);
    const decimals = (figure) => (figure.split(".")[1] || "").length;
    const longest = Math.max(2, ...(printed ? printed.figures.map(decimals) : []));
    const rows = [
      { label: "turn a step, ω", cells: turnOfHand(view) },
      { label: `PE at ${view.position}`, cells: cells("here", view.here, longest) },
    ];
    if (printed) {
      const isSame = sameOf(printed, view);
      rows.push({ label: "printed", cells: printed.figures.map((figure, n) => figureOf(figure, isSame[n], n)) });
    }
    explorer.say(printed ? sayPrinted(printed, view) : sayHand(view));
    return table(view, rows);
  }

  // The printed figures of the example, as long as its position and its number of dimensions are set.
  function printedFor(explorer, view) {
    const { printed, tolerance, settings } = explorer.data.presets[explorer.settings.preset];
    const isShown = printed && settings.position === view.position && printed.length === view.d;
    return isShown ? { figures: printed, tolerance } : null;
  }

  // Of each printed figure, whether it is the computed one.
  const sameOf = ({ figures, tolerance }, view) =>
    figures.map((figure, n) => agrees(figure, tolerance[n], view.here[n]));

  function figureOf(figure, isSame, n) {
    const attributes = { "data-name": `printed-${n}`, "data-value": Number(figure), "data-agrees": String(isSame) };
    return make("span", { ...attributes, class: isSame ? "tfm-same" : "tfm-other" },
      figure, make("span", { "aria-hidden": "true" }, isSame ? " ✓" : " ✗"),
      make("span", { class: "tfm-spoken" }, isSame ? " agrees" : " does not agree"));
  }

  function sayPrinted(printed, view) {
    const all = printed.figures.length;
    const same = sameOf(printed, view).filter(Boolean).length;
    const figures = same === all ? `all ${all} printed figures` : `${same} of the ${all} printed figures`;
    return `Computed in ${view.unit} for position ${view.position}, ${figures} ${same === 1 ? "comes" : "come"} out.`;
  }

  function sayHand(view) {
    if (view.position === 0) return "At position 0 every hand points straight up.";
    const turns = (view.position * view.omega[view.j] * UNITS[view.unit]) / (2 * Math.PI);
    return `From position 0 to ${view.position}, hand ${view.j} has made ${format(turns, digitsFor(turns))} turns.`;
  }

  // --- the rotation ---------------------------------------------------------------------------

  // A matrix with a word beneath it that says what it is.
  function matrix(caption, name, rows, kind) {
    const numbers = rows.flatMap((row, r) => row.map((value, c) => number(`${name}-${r}${c}`, value)));
    return make("div", { class: `tfm-factor ${kind}` },
      make("div", { class: "tfm-matrix", style: `--columns:${rows[0].length}` }, numbers),
      make("div", { class: "tfm-beneath" }, caption));
  }

  function rotationPanel(explorer, view) {
    const [even, odd] = [2 * view.j, 2 * view.j + 1];
    const turned = times(view.matrix, view.here);
    const block = [even, odd].map((r) => [view.matrix[r][even], view.matrix[r][odd]]);
    const column = (vector) => pairOf(vector, view.j).map((value) => [value]);
    const target = view.position + view.delta;
    explorer.say(sayTurn(view));
    return make("div", {},
      make("div", { class: "tfm-equation" },
        matrix(`shift by ${format(view.delta, 0)}`, "rotation", block, "tfm-of-shift"), "·",
        matrix(`at ${view.position}`, "before", column(view.here), "tfm-of-here"), "=",
        matrix(`at ${format(target, 0)}`, "after", column(turned), "tfm-of-there")),
      table(view, [
        { label: `PE at ${view.position}`, cells: cells("here", view.here) },
        { label: "turned", cells: cells("turned", turned) },
        { label: `PE at ${format(target, 0)}`, cells: cells("there", view.there) },
      ]));
  }

  function sayTurn(view) {
    const omega = view.omega[view.j];
    const turn = view.delta * omega;
    // Two more digits of ω, so that the reader's own product is the one that stands here.
    const product = `${format(view.delta, 0)} × ${format(omega, digitsFor(omega) + 2)} = ${format(turn, digitsFor(turn))}`;
    const isBefore = view.position + view.delta < 0;
    const where = isBefore ? " No word stands before position 0, but the rotation does not mind." : "";
    return `This shift turns hand ${view.j} by ${product} ${view.unit}, from wherever it stands.${where}`;
  }

  // --- the distance ---------------------------------------------------------------------------

  const product = (start, delta, value) =>
    make("span", {}, `PE at ${start} · PE at ${format(start + delta, 0)} = `, value);

  function distancePanel(explorer, view) {
    const offsets = range(-SHIFT, SHIFT);
    const from = (start) => {
      const own = sinusoidalEncoding([start], view.d, view.unit)[0];
      return sinusoidalEncoding(offsets.map((k) => start + k), view.d, view.unit).map((row) => dot(own, row));
    };
    const [here, zero] = [from(view.position), from(0)];
    const curve = (values, kind) => ({ kind, points: offsets.map((k, n) => [k, values[n]]) });
    const at = view.delta + SHIFT;
    const most = view.d / 2;
    explorer.say(`With a shift of ${format(view.delta, 0)} the dot product is ${format(here[at])} of at most ${most}, `
      + `at position ${view.position} as at any other.`);
    return make("div", {},
      make("p", { class: "tfm-products" },
        product(view.position, view.delta, number("product", here[at])),
        product(0, view.delta, number("product-at-0", zero[at]))),
      chart({
        label: "The dot product of two encodings against the offset: highest at 0, the same to both sides.",
        from: -SHIFT, to: SHIFT, low: Math.min(0, ...here) - 0.06 * most, high: 1.08 * most,
        curves: [curve(zero, "at-zero"), curve(here, "product")],
        marks: [{ kind: "there", x: view.delta, ys: [here[at]] }],
        ticks: range(-SHIFT, SHIFT, 10),
        caption: "Dot product with the encoding δ positions on. "
          + `Thin: from position ${view.position}; broad, beneath: from position 0.`,
        onpick: (x) => explorer.set({ shift: x }),
      }));
  }

  // --- the ledger -----------------------------------------------------------------------------

  function verdict({ entry }) {
    if (!entry) return null;
    const kind = entry.grave ? "tfm-erratum" : null;
    const label = `${entry.verdict}: ${entry.id} in the ledger`;
    return make("p", { class: "tfm-verdict" },
      make("a", { href: inLedger(entry.id), class: kind, "aria-label": label }, entry.verdict),
      make("b", {}, ` ${entry.document}: `), `${entry.claim} ${entry.because}`);
  }

  // --- the explorer ---------------------------------------------------------------------------

  const PANELS = { numbers: numbersPanel, rotation: rotationPanel, distance: distancePanel };

  tfm.explorers.encoding = {
    title: "Encoding explorer",
    fields: () => [
      { key: "position", kind: "slider", label: "position i", min: 0, max: POSITIONS, step: 1, typed: true },
      {
        key: "shift", kind: "slider", label: "shift δ", min: -SHIFT, max: SHIFT, step: 1, typed: true,
        when: ({ show }) => show !== "numbers",
      },
      { key: "d", kind: "slider", label: "dimensions d", min: 2, max: 64, step: 2, typed: true },
      { key: "unit", kind: "choice", label: "Angles in", options: [["radians", "radians"], ["degrees", "degrees"]] },
      {
        key: "show", kind: "choice", label: "Show",
        options: [["numbers", "the numbers"], ["rotation", "a shift"], ["distance", "the dot product"]],
      },
      { key: "pair", kind: "index" }, // chosen by its dial
    ],
    defaults: (data, preset) => data.presets[preset].settings,
    draw(explorer, place) {
      const view = compute(explorer.settings);
      place.append(...[
        dials(explorer, view),
        make("div", { class: "tfm-hand" }, make("div", {}, bigDial(view), anglesOf(view)), wave(explorer, view)),
        PANELS[view.show](explorer, view),
        verdict(explorer.data.presets[explorer.settings.preset]),
      ].filter(Boolean));
      requestAnimationFrame(() => scrollToChosen(explorer, view, place)); // when the table has its width
    },
  };
})();
