// The attention explorer: whom each word attends to, and the way there from scores to output.
(function () {
  "use strict";
  const { make, makeSvg, scroller, format, number, quoted, uniforms, offBy, agrees, inLedger } = tfm;
  const { grid, dot, transpose, matmul, softmax, oneHot, sinusoidalEncoding, shiftMatrix } = tfm.ref;

  // --- what is computed -------------------------------------------------------------------------

  // From the scores of a head to its output. Padding are vectors of zeros behind the words: their scores
  // and values are zero. They are queries, too, where queries and keys are the same words (`isSelf`).
  function attend(head, { dk, temperature, scaled, ahead, pads, hide }, isSelf) {
    const [T, S] = [head.scores.length, head.scores[0].length];
    const isAllowed = (i, j) => !(isSelf && ahead && j > i) && !(hide && j >= S);
    const divisor = (scaled ? Math.sqrt(dk) : 1) * temperature;
    const each = (matrix, change) => matrix.map((row, i) => row.map((x, j) => change(x, i, j)));

    const scores = grid(isSelf ? T + pads : T, S + pads, (i, j) => (i < T && j < S ? head.scores[i][j] : 0));
    const divided = each(scores, (x) => x / divisor);
    const masked = each(divided, (x, i, j) => (isAllowed(i, j) ? x : -Infinity));
    const weights = masked.map(softmax);
    const values = head.values && [...head.values, ...grid(pads, head.values[0].length, () => 0)];
    return { scores, scaled: divided, masked, weights, output: values ? matmul(weights, values) : null };
  }

  // --- three heads for any words ----------------------------------------------------------------

  const PLACES = 16; // dimensions of a position, as in chapter 5
  const SHARPNESS = 60;
  const LONGEST = 12; // words

  const split = (text) => text.split(/\s+/).filter(Boolean);

  const wordsOf = (text) => split(text).slice(0, LONGEST);

  function vocabularyOf(words) {
    return [...new Set(words.map((word) => word.toLowerCase()))].sort();
  }

  function headsByHand(words) {
    const vocabulary = vocabularyOf(words);
    const codes = oneHot(words.map((word) => vocabulary.indexOf(word.toLowerCase())), vocabulary.length);
    const places = sinusoidalEncoding([...words.keys()], PLACES);
    const placesBefore = matmul(places, transpose(shiftMatrix(-1, PLACES)));
    const firstPlace = places.map((place) => places[0].map((x) => x * place[PLACES - 1]));
    const head = (name, queries, keys) => ({
      name,
      scores: matmul(queries, transpose(keys)).map((row) => row.map((x) => SHARPNESS * x)),
      values: codes,
    });
    return [
      head("previous word", placesBefore, places),
      head("same word", codes, codes),
      head("first word", firstPlace, places),
    ];
  }

  // --- random queries and keys ------------------------------------------------------------------

  // For `count` words, d_k numbers each with mean 0 and variance 1, dimension by dimension: longer ones begin
  // as shorter ones do. book.explorers.attention.drawn gives the same.
  function drawVectors(count, dk, seed) {
    const next = uniforms(seed);
    const normals = Array.from({ length: count * dk }).flatMap(() => {
      const [radius, angle] = [Math.sqrt(-2 * Math.log(next())), 2 * Math.PI * next()];
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    });
    const vectors = (part) => grid(count, dk, (i, k) => normals[(2 * k + part) * count + i]);
    return { queries: vectors(0), keys: vectors(1) };
  }

  let longest = {}; // of the last draw: a slider asks for its beginnings again and again

  function headDrawn(count, dk, seed) {
    if (longest.seed !== seed) longest = { seed, ...drawVectors(count, D_K.at(-1), seed) };
    const { queries, keys } = longest;
    const cut = (vectors) => vectors.map((vector) => vector.slice(0, dk));
    const [q, k] = [cut(queries), cut(keys)];
    return { name: "", scores: q.map((query) => k.map((key) => dot(query, key))) };
  }

  // The rows' mean entropy, as a share of the largest possible: 1 is all alike, 0 is all on one word.
  function evenness(weights) {
    const entropy = (row) => -row.reduce((sum, s) => sum + (s > 0 ? s * Math.log(s) : 0), 0);
    return weights.reduce((sum, row) => sum + entropy(row) / Math.log(row.length), 0) / weights.length;
  }

  // --- what the documents print -----------------------------------------------------------------

  // How far the worst printed figure is from the computed one.
  function deviation(computed, { figures }) {
    return Math.max(...figures.flatMap((row, i) => row.map((figure, j) => offBy(figure, computed[i][j]))));
  }

  // Whether every printed figure is the computed one.
  function allAgree(computed, { figures, tolerance }) {
    return figures.every((row, i) => row.every((figure, j) => agrees(figure, tolerance[i][j], computed[i][j])));
  }

  // The most that a figure is off when all of them agree.
  const rounding = ({ tolerance }) => Number(Math.max(...tolerance.flat()).toPrecision(3));

  tfm.attention = { attend, wordsOf, headsByHand, drawVectors, evenness };

  // --- settings ---------------------------------------------------------------------------------

  // d_k from 1 to 1024: one by one at first, then by ever larger steps.
  const D_K = Array.from({ length: 64 }, (_, i) => i + 1);
  while (D_K.at(-1) < 1024) D_K.push(D_K.at(-1) + 2 ** Math.floor(Math.log2(D_K.at(-1)) - 5));

  const STAGES = ["scores", "scaled", "masked", "weights", "output"];
  const isTyped = (settings, data) => !data.presets[settings.preset].keys;
  const isDrawn = (settings, data) => !isTyped(settings, data) && !data.presets[settings.preset].heads;
  const isSelf = (settings, data) => !data.presets[settings.preset].queries;

  const FIELDS = [
    { key: "text", kind: "text", label: "Sentence", longest: 200, when: isTyped },
    {
      // Random vectors get longer with d_k. Scores that are given stay: there it is only what divides them.
      key: "dk", kind: "slider", label: "d_k", values: D_K,
      called: (settings, data) => (isDrawn(settings, data) ? "d_k" : "divisor"),
      format: (dk, settings, data) => (isDrawn(settings, data) ? String(dk) : `√${dk} = ${format(Math.sqrt(dk))}`),
      when: (settings, data) => isDrawn(settings, data) || settings.scaled,
    },
    { key: "seed", kind: "slider", label: "draw", min: 1, max: 20, step: 1, when: isDrawn },
    { key: "temperature", kind: "slider", label: "temperature", min: 0.1, max: 5, step: 0.1, digits: 1 },
    { key: "scaled", kind: "switch", label: "divide by √d_k" },
    { key: "ahead", kind: "switch", label: "look-ahead mask", when: isSelf },
    { key: "pads", kind: "slider", label: "padding", min: 0, max: 3, step: 1 },
    { key: "hide", kind: "switch", label: "hide padding", when: (settings) => settings.pads > 0 },
    { key: "stage", kind: "choice", label: "Show", options: STAGES.map((stage) => [stage, stage]) },
    { key: "head", kind: "index" },
    { key: "query", kind: "index" },
  ];
  const START = {
    text: "", seed: 1, temperature: 1, scaled: true, ahead: false, pads: 0, hide: false, stage: "weights", head: 0, query: 0,
  };

  // Everything there is to draw, computed once.
  function look(data, settings) {
    const example = data.presets[settings.preset];
    const words = example.keys || wordsOf(settings.text);
    if (words.length === 0) return null;
    const padding = Array(settings.pads).fill("<pad>");
    const headAt = (dk) => headDrawn(words.length, dk, settings.seed);
    const isTypedIn = isTyped(settings, data);
    const heads = example.heads || (isTypedIn ? headsByHand(words) : [headAt(settings.dk)]);
    const self = isSelf(settings, data);
    const keys = [...words, ...padding];
    const queries = self ? keys : example.queries;
    const chosen = Math.min(settings.head, heads.length - 1);
    const compute = (head, changes) => attend(head, { ...settings, ...changes }, self);
    return {
      example, heads, headAt, chosen, keys, queries, self, compute,
      stages: compute(heads[chosen]),
      query: Math.min(settings.query, queries.length - 1),
      features: isTypedIn ? vocabularyOf(words) : null, // what the output's columns stand for
    };
  }

  // --- drawing ----------------------------------------------------------------------------------

  // What to see in the example, and the verdicts of the ledger on it.
  function note(explorer) {
    const { text, ledger } = explorer.data.presets[explorer.settings.preset];
    const badge = ({ id, verdict, grave, sentence }) => make("a", {
      href: inLedger(id), class: grave ? "tfm-erratum" : null, "data-key": `${explorer.id}.${id}`,
      "data-sentence": sentence, "aria-description": sentence,
    }, verdict);
    return [text, ...ledger.flatMap((entry) => [" ", badge(entry)])];
  }

  // Each head as a small picture; the chosen one is shown in full below.
  function headButtons(explorer, view) {
    const buttons = view.heads.map(({ name }, h) => make("button", {
      type: "button", "aria-pressed": String(h === view.chosen), "data-key": `${explorer.id}.head-${h}`,
      onclick: () => explorer.set({ head: h }),
    }, picture(view.compute(view.heads[h]).weights, view.query), name));
    return make("div", { class: "tfm-heads", role: "group", "aria-label": "Head" }, buttons);
  }

  // A weight that would hardly be seen is not drawn: a slider moves all of these at once.
  function picture(weights, query) {
    const [width, height] = [weights[0].length, weights.length];
    const cell = (x, y, opacity) => makeSvg("rect", { x, y, width: 0.9, height: 0.9, "fill-opacity": opacity });
    return makeSvg("svg", { viewBox: `-0.1 -0.1 ${width + 0.1} ${height + 0.1}`, "aria-hidden": "true" },
      makeSvg("rect", { width: width - 0.1, height: height - 0.1, "fill-opacity": 0.08 }),
      weights.flatMap((row, y) => row.map((weight, x) => (weight < 0.02 ? null : cell(x, y, weight)))),
      makeSvg("rect", { class: "tfm-row", y: query - 0.05, width: width - 0.1, height: 1 }));
  }

  function matrix(explorer, view) {
    const { stage } = explorer.settings;
    const told = caption(explorer.settings, view) + (printedAt(view, stage) ? ". Beneath each: as printed" : "");
    const name = `${explorer.id}.told`;
    const shades = view.stages[stage] && range(view, stage);
    const header = columns(view, stage).map((name) => make("th", { scope: "col" }, name));
    const rows = view.queries.map((word, i) => make("tr",
      { class: i === view.query ? "tfm-chosen" : null, ...pointing(explorer, view, i) },
      make("th", { scope: "row", "aria-current": i === view.query ? "true" : null }, word),
      shades ? heatCells(view, stage, i, shades) : mixture(view, i),
    ));
    const table = make("table", { class: "tfm-matrix", "aria-labelledby": name },
      make("thead", {}, make("tr", {}, make("td"), header)), make("tbody", {}, rows));
    return [make("p", { class: "tfm-told", id: name }, told), scroller("Matrix", table)]; // it stays when the table scrolls
  }

  // A column stands for a key; in the output for a word, or for a number that has no name.
  function columns(view, stage) {
    if (stage !== "output") return view.keys;
    if (!view.stages.output) return ["mixture"];
    return view.features || view.stages.output[0].map((_, j) => String(j + 1));
  }

  function caption({ stage, dk, temperature, scaled }, view) {
    const divisors = [
      scaled ? ` ÷ √d_k (${format(Math.sqrt(dk))})` : "",
      temperature === 1 ? "" : ` ÷ temperature (${format(temperature, 1)})`,
    ];
    const isMasked = view.stages.masked.flat().includes(-Infinity);
    return {
      scores: "Scores: each query (row) with each key (column)",
      scaled: `Scores${divisors.join("")}`,
      masked: `Scores${divisors.join("")}${isMasked ? "; −∞ where a query may not look" : ": nothing is masked"}`,
      weights: "Weights: the softmax of each row. A row sums to 1",
      output: "Output: each row's weights times the values",
    }[stage];
  }

  // The numbers that have the lightest and the darkest shade.
  function range(view, stage) {
    const finite = view.stages[stage].flat().filter(Number.isFinite);
    return stage === "weights" ? [0, 1] : [Math.min(...finite), Math.max(...finite)];
  }

  function heatCells(view, stage, i, [low, high]) {
    const isBlocked = (j) => ["masked", "weights"].includes(stage) && view.stages.masked[i][j] === -Infinity;
    return view.stages[stage][i].map((value, j) => make("td", {
      "data-value": value,
      class: isBlocked(j) ? "tfm-blocked" : null,
      style: isBlocked(j) ? null : `--share: ${high > low ? (value - low) / (high - low) : 0}`,
    }, format(value), asPrinted(view, stage, i, j)));
  }

  // What the document has in this place, and whether that is the computed number.
  function asPrinted(view, stage, i, j) {
    const printed = printedAt(view, stage);
    const figure = printed && printed.figures[i] && printed.figures[i][j];
    if (!figure) return null;
    const isSame = agrees(figure, printed.tolerance[i][j], view.stages[stage][i][j]);
    return make("small", {}, isSame ? figure : `≠${figure}`);
  }

  // The figures that the document prints at this stage, if any, and how far each may be off.
  function printedAt({ example }, stage) {
    if (!example.printed || !example.printed[stage]) return null;
    return { figures: example.printed[stage], tolerance: example.tolerance[stage] };
  }

  // Without values the output can only be written down: weight times value, word by word.
  function mixture(view, i) {
    const parts = view.keys.map((word, j) => [view.stages.weights[i][j], word]).filter(([weight]) => weight >= 0.005);
    return make("td", { class: "tfm-mixture" },
      parts.flatMap(([weight, word], n) => [n ? " + " : "", number(null, weight), ` v(${word})`]));
  }

  function choose(explorer, view, query) {
    if (query !== view.query) explorer.set({ query });
  }

  // Whoever chose a word with a finger stays at it, though it was drawn anew.
  function chooseAndStay(explorer, view, query) {
    choose(explorer, view, query);
    explorer.box.querySelector(`[data-key="${CSS.escape(explorer.id)}.query"]`).focus({ preventScroll: true });
  }

  // A mouse chooses by pointing. One that rests chooses nothing, though a new row is drawn beneath it: else the
  // keyboard could not move. A finger may be about to scroll: it chooses by a tap.
  function pointing(explorer, view, query) {
    return {
      onpointermove: (event) => event.pointerType === "mouse" && choose(explorer, view, query),
      onclick: () => choose(explorer, view, query),
    };
  }

  // The words with a bar above each, as high as the weight that the chosen word gives to it.
  function tokenRow(explorer, view) {
    const weights = view.stages.weights[view.query];
    const last = view.queries.length - 1;
    const goal = { ArrowLeft: view.query - 1, ArrowRight: view.query + 1, Home: 0, End: last };
    const keydown = (event) => {
      if (!(event.key in goal)) return;
      event.preventDefault();
      choose(explorer, view, Math.max(0, Math.min(last, goal[event.key])));
    };
    const token = (word, j) => {
      const isChosen = view.self && j === view.query;
      const inside = [
        make("span", { class: "tfm-bar", style: `--share: ${weights[j]}` }),
        make("span", { class: "tfm-word" }, word), " ", number(null, weights[j]),
      ];
      if (!view.self) return make("span", { class: "tfm-token" }, inside);
      return make("button", {
        type: "button", class: "tfm-token", "aria-pressed": String(isChosen), tabindex: isChosen ? 0 : -1,
        "data-key": isChosen ? `${explorer.id}.query` : null, // whoever has the focus follows the choice
        onkeydown: keydown, ...pointing(explorer, view, j), onclick: () => chooseAndStay(explorer, view, j),
      }, inside);
    };
    const label = `Whom ${quoted(view.queries[view.query])} attends to`;
    return [
      make("p", { class: "tfm-asks" }, label, view.self ? ". Choose another word:" : ":"),
      make("div", { class: "tfm-tokens", role: "group", "aria-label": label }, view.keys.map(token)),
    ];
  }

  // A drawing over d_k from 1 to 1024, on a logarithmic axis, with a dot at the d_k that is set.
  function overDk({ told, heading, above, y, ticks, lines, limit, at }) {
    const [left, right, top, bottom] = [40, 226, 20, 126];
    const x = (dk) => left + ((right - left) * Math.log2(dk)) / 10;
    const height = (value) => bottom - (bottom - top) * y(value);
    const path = (points) => "M" + points.map(([dk, value]) => `${x(dk)} ${height(value)}`).join("L");
    const text = (content, place) => makeSvg("text", place, content);
    return make("div", { class: "tfm-curve" },
      make("p", {}, heading),
      makeSvg("svg", { viewBox: "0 0 244 160", role: "img", "aria-label": told },
        makeSvg("path", { class: "tfm-axis", d: `M${left} ${top}V${bottom}H${right}` }),
        limit === undefined ? null : makeSvg("path", { class: "tfm-limit", d: `M${left} ${height(limit)}H${right}` }),
        lines.map(([kind, points]) => makeSvg("path", { class: kind, d: path(points) })),
        makeSvg("circle", { cx: x(at[0]), cy: height(at[1]), r: 5 }),
        [1, 4, 16, 64, 256, 1024].map((dk) => text(String(dk), { x: x(dk), y: bottom + 15, "text-anchor": "middle" })),
        ticks.map((value) => text(String(value), { x: left - 5, y: height(value) + 4, "text-anchor": "end" })),
        text("d_k", { x: (left + right) / 2, y: bottom + 30, "text-anchor": "middle" }),
        text(above, { x: right, y: top - 7, "text-anchor": "end" }),
      ),
    );
  }

  // How far the printed figures are off, for every d_k.
  function printedCurve(explorer, view) {
    const stage = stageInPrint(explorer, view);
    const printed = printedAt(view, stage);
    const { dk } = explorer.settings;
    const off = (d) => deviation(view.compute(view.heads[view.chosen], { dk: d })[stage], printed);
    const points = D_K.map((d) => [d, off(d)]);
    const best = points.reduce((a, b) => (b[1] < a[1] ? b : a));
    const [top, bottom] = [Math.ceil(Math.log10(Math.max(...points.map(([, distance]) => distance)))), -3];
    const whose = stage === explorer.settings.stage ? "" : ` of the ${stageName(stage)}`;
    return overDk({
      told: `How far the worst printed figure of the ${stageName(stage)} is off, for d_k from 1 to 1024: least at d_k = ${best[0]}, `
        + `by ${format(best[1], 3)}. Rounding explains ${rounding(printed)}.`,
      heading: [`Worst printed figure${whose}: off by `, make("strong", {}, number(null, off(dk), 3))],
      above: "dashed: rounding alone",
      y: (distance) => (Math.max(bottom, Math.log10(distance)) - bottom) / (top - bottom), // what is less lies on the axis
      ticks: Array.from({ length: top - bottom + 1 }, (_, n) => 10 ** (bottom + n)),
      lines: [["tfm-line", points]],
      limit: rounding(printed),
      at: [dk, off(dk)],
    });
  }

  // How even the weights are, for every d_k, with the division and without it.
  function evennessCurve({ settings: { dk, scaled } }, view) {
    const even = (d, isScaled) => evenness(view.compute(view.headAt(d), { dk: d, scaled: isScaled }).weights);
    const lengths = D_K.filter((d, n) => n % 4 === 0 || Number.isInteger(Math.log2(d)));
    const line = (isScaled) => lengths.map((d) => [d, even(d, isScaled)]);
    const [divided, plain] = [even(dk, true), even(dk, false)];
    return overDk({
      told: `Evenness of the weights for d_k from 1 to 1024. At d_k = ${dk}: ${format(divided)} divided by √d_k, ${format(plain)} not divided.`,
      heading: [
        "Evenness: divided ", make("strong", {}, number("divided", divided)), ", not ",
        make("strong", {}, number("plain", plain)),
      ],
      above: "dashed: not divided",
      y: (value) => value,
      ticks: [0, 0.5, 1],
      lines: [["tfm-limit", line(false)], ["tfm-line", line(true)]],
      at: [dk, scaled ? divided : plain],
    });
  }

  // The stage that is compared with print: the one shown, or else the weights.
  function stageInPrint(explorer, view) {
    return printedAt(view, explorer.settings.stage) ? explorer.settings.stage : "weights";
  }

  const stageName = (stage) => (stage === "scaled" ? "scaled scores" : stage);

  function sentence(explorer, view) {
    const weights = view.stages.weights[view.query];
    const isItself = (j) => view.self && j === view.query;
    const isLess = (a, b) => weights[b] - weights[a] > 1e-9;
    const [first, second] = weights.map((_, j) => j)
      .sort((a, b) => isLess(a, b) - isLess(b, a) || isItself(b) - isItself(a));
    const who = quoted(view.queries[view.query]);
    if (weights[first] === 0) return `${who} may look at nothing: its weights are all zero.`;
    const whom = (j) => `${isItself(j) ? "itself" : quoted(view.keys[j])} (${format(weights[j])})`;
    const then = isLess(second, first) ? "then" : "and as much";
    const next = weights[second] >= 0.005 ? `, ${then} to ${whom(second)}` : "";
    const leftOut = isTyped(explorer.settings, explorer.data) && split(explorer.settings.text).length > LONGEST;
    const told = `${who} attends most to ${whom(first)}${next}.${leftOut ? ` Only the first ${LONGEST} words are read.` : ""}`;
    if (!view.example.printed) return told;
    const stage = stageInPrint(explorer, view);
    const printed = printedAt(view, stage);
    if (allAgree(view.stages[stage], printed)) return `${told} All printed ${stageName(stage)} come out.`;
    return `${told} The worst printed figure is off by ${format(deviation(view.stages[stage], printed), 3)}.`;
  }

  function draw(explorer, place) {
    const view = look(explorer.data, explorer.settings);
    const example = explorer.data.presets[explorer.settings.preset];
    if (view === null) {
      explorer.say("Type a few words, and see whom each of them attends to.");
      return;
    }
    const [told, table] = matrix(explorer, view);
    if (view.heads.length > 1) place.append(headButtons(explorer, view));
    const isRandom = isDrawn(explorer.settings, explorer.data);
    const comparison = isRandom ? evennessCurve(explorer, view) : example.printed ? printedCurve(explorer, view) : null;
    place.append(told, make("div", { class: "tfm-pair" }, table, comparison), ...tokenRow(explorer, view));
    explorer.say(sentence(explorer, view));
  }

  tfm.explorers.attention = {
    title: "Attention explorer",
    fields: () => FIELDS,
    defaults: (data, preset) => ({ ...START, ...data.presets[preset].start }),
    note,
    draw,
  };
})();
