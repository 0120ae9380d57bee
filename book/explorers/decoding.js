// The decoding explorer: a sentence is searched for, or drawn, one token a step.
//
// Each step is a column: the likeliest continuations of all beginnings, the best on top. As many as the
// search is wide stay in the beam; the others are dropped. Sampling has one beginning, and one token stays.
(function () {
  "use strict";

  const { make, makeSvg, scroller, reveal, format, number, quoted, uniforms } = tfm;
  const { softmax } = tfm.ref;
  const START = "<start>";
  const END = "<end>";
  const WIDEST = 5;
  const MORE = 2; // so many of the dropped are shown, as far as the stored tokens
  const ALL = 3; // no row of the table has more tokens
  const STORED = 6; // of each distribution tell which they are

  // --- what is computed -----------------------------------------------------------------------

  // What divides the log-probability of a sentence of this length: the 2017 paper's length penalty.
  const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

  // A step of the search: each beginning, and each token that may follow it; the likeliest first.
  const continuations = (beams, follow) =>
    beams
      .flatMap((parent) => Object.entries(follow[parent.words.join(" ")]).map(([word, logP]) => ({
        parent, words: [...parent.words, word], logP: parent.logP + logP,
      })))
      .sort((one, other) => other.logP - one.logP);

  // Beam search as tfmlib.generate has it; with width 1 it is greedy decoding. `follow` holds, for each
  // beginning, the log-probabilities of the tokens after it.
  function beamSearch(follow, { width, alpha, most }) {
    const root = { parent: null, words: [], logP: 0, kept: true, ended: false };
    const steps = [];
    let [beams, best, over] = [[root], null, false];
    for (let length = 1; !over; length += 1) {
      const candidates = continuations(beams, follow);
      candidates.forEach((one, rank) => {
        one.kept = rank < width;
        one.ended = one.kept && (isWhole(one) || length === most);
        one.score = one.ended ? one.logP / lengthPenalty(length, alpha) : null;
        if (one.ended && (best === null || one.score > best.score)) best = one;
      });
      beams = candidates.filter((one) => one.kept && !one.ended);
      // A log-probability only falls, so no beginning can score more than this in the end.
      const bound = beams.length ? beams[0].logP / lengthPenalty(most, alpha) : -Infinity;
      over = best !== null && bound <= best.score;
      steps.push({ candidates: candidates.slice(0, Math.min(width + MORE, STORED)), best, bound });
    }
    return { root, steps };
  }

  // --- sampling -------------------------------------------------------------------------------

  const ROUNDING = 1e-9; // a sum that should be p reaches p

  // What tfmlib.generate.sample draws from: the softmax of ln p / temperature, kept for the k likeliest tokens and
  // for the fewest that together reach p. Tokens come with the likeliest first.
  function toDrawFrom(logP, { temperature, k, p }) {
    const [words, values] = [Object.keys(logP), Object.values(logP)];
    const shares = softmax(values.map((value) => value / temperature));
    let before = 0;
    const kept = shares.map((share, rank) => {
      const isKept = rank < k && before < p - ROUNDING;
      before += share;
      return isKept ? share : 0;
    });
    const total = kept.reduce((sum, share) => sum + share, 0);
    return words.map((word, rank) => ({ word, logP: values[rank], share: kept[rank] / total }));
  }

  // A sentence, drawn token by token: each step has one number between 0 and 1, and takes the token that it falls to.
  function sample(follow, settings, most) {
    const next = uniforms(settings.seed);
    const root = { parent: null, words: [], logP: 0, kept: true, ended: false };
    const steps = [];
    for (let parent = root; !parent.ended;) {
      const draw = next();
      const tokens = toDrawFrom(follow[parent.words.join(" ")], settings);
      let reached = 0;
      const taken = tokens.findIndex(({ share }) => { reached += share; return draw < reached; });
      const candidates = tokens.map(({ word, logP, share }, rank) => {
        const node = { parent, words: [...parent.words, word], logP: parent.logP + logP, share, kept: rank === taken };
        node.ended = node.kept && (isWhole(node) || node.words.length === most);
        return node;
      });
      parent = candidates[taken];
      steps.push({ candidates, draw, best: parent.ended ? parent : null, bound: null });
    }
    return { root, steps };
  }

  // Every sentence that can be drawn, the likeliest first.
  function sentences(follow, settings, most, words = [], share = 1, logP = 0) {
    const found = toDrawFrom(follow[words.join(" ")], settings).filter((token) => token.share > 0).flatMap((token) => {
      const longer = { words: [...words, token.word], share: share * token.share, logP: logP + token.logP };
      if (token.word === END || longer.words.length === most) return [longer];
      return sentences(follow, settings, most, longer.words, longer.share, longer.logP);
    });
    return found.sort((one, other) => other.share - one.share);
  }

  tfm.decoding = { beamSearch, toDrawFrom, sample, sentences };

  // All that one picture shows: the search, as far as the reader has stepped.
  function compute(settings, data) {
    const { width, alpha, model } = settings;
    const { most, target, distributions } = data.presets[settings.preset];
    const follow = distributions[model] || distributions.table;
    const isDrawn = isSampled(settings, data);
    const { root, steps } = isDrawn ? sample(follow, settings, most) : beamSearch(follow, { width, alpha, most });
    const t = Math.min(settings.step, steps.length);
    const columns = [[root], ...steps.slice(0, t).map((step) => step.candidates)];
    const isOver = t === steps.length;
    const best = t ? steps[t - 1].best : null;
    const front = columns[t].filter((node) => node.kept && !node.ended);
    const nodes = columns.flat();
    const followed = new Set([...front, ...nodes.filter((node) => node.ended)].flatMap(lineage));
    const chosen = nodes[settings.node - 1] || (isOver ? best : front[0]);
    const greedy = beamSearch(follow, { width: 1, alpha, most }).steps.at(-1).best;
    return {
      width, most, t, last: steps.length, columns, nodes, isOver, best, followed, chosen, greedy, target, follow, front,
      bound: t ? steps[t - 1].bound : null, draw: t ? steps[t - 1].draw : null,
      isDrawn, cut: (beginning) => toDrawFrom(follow[beginning], settings),
      drawable: isDrawn ? sentences(follow, settings, most) : null,
      rows: Math.max(...steps.map((step) => step.candidates.length)),
    };
  }

  // A beginning and all those that it has grown from.
  const lineage = (node) => (node ? [node, ...lineage(node.parent)] : []);

  const isWhole = (node) => node.words.at(-1) === END; // or else it was cut off

  const spell = (node) => node.words.join(" ") || START;

  // What has become of a beginning: its class, its sign, and the word for it.
  function fate(view, node) {
    if (view.isDrawn && !node.kept) return node.share > 0 ? ["dropped", "✕", "not drawn"] : ["cut", "–", "cut away"];
    if (view.isDrawn && node.parent) return node.ended ? ["best", "★", "drawn, the end"] : ["live", "", "drawn"];
    if (!node.kept) return ["dropped", "✕", "dropped"];
    if (node === view.best) return ["best", "★", "ended, the best so far"];
    if (node.ended) return ["ended", "■", isWhole(node) ? "ended" : "cut off, too long"];
    if (view.isOver && view.front.includes(node)) return ["open", "…", "given up"];
    if (view.followed.has(node)) return ["live", "", "kept"];
    return ["lost", "✕", "kept, later dropped"];
  }

  // --- numbers --------------------------------------------------------------------------------

  const probability = (name, value) =>
    value > 0 && value < 0.0005
      ? make("span", { "data-name": name, "data-value": value }, "< 0.001")
      : number(name, value, 3);

  // --- the tree -------------------------------------------------------------------------------

  const COLUMN = 92; // measures of the tree, in sixteenths of a rem
  const ROW = 46;
  const HEAD = 26;
  const BOX = { width: 70, height: 38 };

  const rem = (units) => `${units / 16}rem`;

  const corner = (column, row) => [column * COLUMN + 3, HEAD + row * ROW + 4]; // of a box, left and top

  function tree(explorer, view, look) {
    const size = { width: view.columns.length * COLUMN - (COLUMN - BOX.width) + 6, height: HEAD + view.rows * ROW };
    const places = new Map(view.columns.flatMap((column, k) => column.map((node, row) => [node, [k, row]])));
    const columns = view.columns.map((column, k) => make("li", {},
      make("p", { style: `left:${rem(k * COLUMN)}` }, k ? `step ${k}` : "start"),
      make("ol", {}, column.map((node, row) => make("li", {}, button(explorer, view, node, k, row, look))))));
    const box = make("div", { class: "tfm-tree", style: `width:${rem(size.width)};height:${rem(size.height)}` },
      drawing(view, places, size),
      make("ol", { "aria-label": "The search, step by step" }, columns));
    return scroller("The tree of beginnings", box);
  }

  function button(explorer, view, node, k, row, look) {
    const [name, sign, said] = fate(view, node);
    const isChosen = node === view.chosen;
    const before = node.words.slice(0, -1).join(" ");
    const [left, top] = corner(k, row);
    return make("button", {
      type: "button", class: `tfm-node tfm-${name}`, "aria-pressed": String(isChosen), tabindex: isChosen ? "0" : "-1",
      style: `left:${rem(left)};top:${rem(top)};width:${rem(BOX.width)};height:${rem(BOX.height)}`,
      "data-key": keyOf(explorer, view, node), "data-fate": name, "data-words": spell(node),
      onclick: () => explorer.set({ node: indexOf(view, node) }),
      onpointermove: () => look(node),
      onpointerleave: () => look(view.chosen),
      onkeydown: (event) => move(explorer, view, node, event),
    },
    before ? make("span", { class: "tfm-spoken" }, `${before} `) : null,
    make("b", {}, node.words.at(-1) || START),
    " ",
    node.parent ? make("span", {}, mark(sign), probability("p", view.isDrawn ? node.share : Math.exp(node.logP))) : null,
    make("span", { class: "tfm-spoken" }, ` (${said})`));
  }

  const mark = (sign) => (sign ? make("span", { "aria-hidden": "true" }, `${sign} `) : null);

  const indexOf = (view, node) => view.nodes.indexOf(node) + 1; // 0 is: follow the best

  const keyOf = (explorer, view, node) => `${explorer.id}.node-${indexOf(view, node)}`;

  // Edges from each beginning to its continuations, over the band of those that stay.
  function drawing(view, places, size) {
    const best = lineage(view.best);
    const edges = view.nodes.filter((node) => node.parent).map((node) => {
      const [[x0, y0], [x1, y1]] = [node.parent, node].map((end) => corner(...places.get(end)));
      const [start, end] = [x0 + BOX.width, x1];
      const middle = (start + end) / 2;
      const [from, to] = [y0 + BOX.height / 2, y1 + BOX.height / 2];
      const name = best.includes(node) ? "best" : fate(view, node)[0];
      const d = `M${start} ${from}C${middle} ${from} ${middle} ${to} ${end} ${to}`;
      return makeSvg("path", { d, class: `tfm-edge-${name}` });
    });
    const left = COLUMN - 8;
    const height = Math.min(view.width, view.rows) * ROW;
    const band = view.t && !view.isDrawn
      ? makeSvg("rect", { x: left, y: HEAD, width: size.width - left, height, rx: 6, class: "tfm-band" })
      : null;
    return makeSvg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" }, band, edges);
  }

  // Arrow keys: up and down in a column, left to the beginning, right to what grew from it.
  function move(explorer, view, node, event) {
    const column = view.columns.find((one) => one.includes(node));
    const isNewest = column === view.columns.at(-1);
    const to = {
      ArrowUp: () => column[column.indexOf(node) - 1],
      ArrowDown: () => column[column.indexOf(node) + 1],
      ArrowLeft: () => node.parent,
      ArrowRight: () => view.nodes.find((other) => other.parent === node),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    if (event.key === "ArrowRight" && isNewest && !view.isOver) {
      explorer.set({ step: stepTo(view, view.t + 1), node: 0 });
      explorer.box.querySelector('.tfm-node[aria-pressed="true"]').focus();
    } else if (to()) {
      explorer.set({ node: indexOf(view, to()) });
      explorer.box.querySelector(`[data-key="${CSS.escape(keyOf(explorer, view, to()))}"]`).focus();
    }
  }

  // --- the steps ------------------------------------------------------------------------------

  function stepper(explorer, view) {
    const go = (step) => explorer.set({ step: stepTo(view, step), node: 0 });
    // Not `disabled`, which would lose the focus of whoever steps by keyboard.
    const action = (name, label, isIdle, act) => make("button", {
      type: "button", "data-key": `${explorer.id}.${name}`, "aria-disabled": String(isIdle),
      onclick: () => { if (!isIdle) act(); },
    }, label);
    const forward = () => go(view.t + 1);
    const back = () => go(view.t - 1);
    const keys = { ArrowRight: !view.isOver && forward, ArrowLeft: view.t > 0 && back };
    return make("div", {
      class: "tfm-stepper", role: "group", "aria-label": "Steps of the search",
      onkeydown: (event) => {
        if (event.key in keys) event.preventDefault();
        if (keys[event.key]) keys[event.key]();
      },
    },
    action("back", "← Back", view.t === 0, back),
    action("forward", "Step →", view.isOver, forward),
    action("end", "To the end", view.isOver, () => go(view.last)),
    make("span", { class: "tfm-count" }, view.isOver ? `step ${view.t}, the last` : `step ${view.t}`));
  }

  // Whoever has come to the end stays there when another width or α makes the search longer.
  const stepTo = (view, t) => (t < view.last ? t : BEYOND_EVERY_SEARCH);

  const BEYOND_EVERY_SEARCH = 99;

  const DRAWN = [["live", " ", "drawn"], ["dropped", "✕", "not drawn"], ["cut", "–", "cut away"], ["best", "★", "the end"]];

  const LEGEND = [
    ["live", " ", "in the beam"], ["dropped", "✕", "dropped"], ["ended", "■", "ended"], ["best", "★", "best so far"],
    ["open", "…", "given up"],
  ];

  const legend = (view) => make("p", { class: "tfm-legend", "aria-hidden": "true" },
    (view.isDrawn ? DRAWN : LEGEND).map(([name, sign, said]) =>
      make("span", {}, make("span", { class: `tfm-node tfm-${name}` }, sign), said)),
    make("span", { class: "tfm-keys" }, "arrow keys move"));

  // --- a beginning: what may follow ---------------------------------------------------------------

  function beginning(view, node) {
    const title = make("p", { class: "tfm-panel-title" }, `After ${quoted(spell(node))}`);
    if (!node.parent) return [title, nextTokens(view, node)];
    const numbers = [probability("joint", Math.exp(node.logP)), ", ln p = ", number("log-p", node.logP)];
    const soFar = make("p", {}, "so far: p = ", numbers);
    const why = whyNothingFollows(view, node);
    return [title, soFar, why ? make("p", {}, why) : nextTokens(view, node)];
  }

  function whyNothingFollows(view, node) {
    if (node.ended) return `The sentence ${howItEnds(view, node)}: nothing follows.`;
    if (!node.kept && view.isDrawn) return "It was not drawn: nobody asks what would follow.";
    if (!node.kept) return "It fell out of the beam: nobody asks what would follow.";
    if (fate(view, node)[0] === "open") return "The search ended before it was asked what would follow.";
    return null;
  }

  function nextTokens(view, node) {
    const beginning = node.words.join(" ");
    if (view.isDrawn) {
      const was = (logP) => make("span", { class: "tfm-was" }, "model ", probability("model", Math.exp(logP)));
      return make("ol", { class: "tfm-bars tfm-both" },
        view.cut(beginning).map(({ word, logP, share }) => bar(word, share, "next", was(logP))));
    }
    const known = Object.entries(view.follow[beginning]).map(([word, value]) => [word, Math.exp(value)]);
    const rest = 1 - known.reduce((sum, [, p]) => sum + p, 0);
    const others = rest > 0.0005 ? [bar("all others", rest, "rest")] : [];
    return make("ol", { class: "tfm-bars" }, known.map(([word, p]) => bar(word, p, "next")), others);
  }

  const bar = (word, p, name, more = null) => make("li", {},
    make("span", {}, word),
    make("span", { class: "tfm-track" }, make("span", { style: `width:${(100 * p).toFixed(2)}%` })),
    probability(name, p),
    more);

  // --- what has ended -----------------------------------------------------------------------------

  function finished(view) {
    const title = make("p", { class: "tfm-panel-title" }, "Finished sentences");
    const ended = view.nodes.filter((node) => node.ended).sort((one, other) => other.score - one.score);
    if (!ended.length) return [title, make("p", {}, "None yet.")];
    const rows = ended.slice(0, LISTED).map((node) => make("tr", {},
      make("th", { scope: "row" }, node === view.best ? "★ " : "■ ", spell(node)),
      make("td", {}, number("length", node.words.length, 0)),
      make("td", {}, number("ended-log-p", node.logP)),
      make("td", {}, number("score", node.score, 3))));
    const more = ended.length - LISTED;
    return [
      title,
      table(["sentence", "tokens", "ln p", "score"], rows),
      more > 0 ? make("p", { class: "tfm-more" }, `and ${more} more with lower scores`) : null,
    ];
  }

  // What sampling writes, and how often.
  function drawn(view) {
    const { drawable } = view;
    const written = view.best ? spell(view.best) : null;
    const rows = drawable.slice(0, OFTEN).map(({ words, share, logP }) => make("tr", {},
      make("th", { scope: "row" }, words.join(" ") === written ? "★ " : "", words.join(" ")),
      make("td", {}, probability("share", share)),
      make("td", {}, probability("model", Math.exp(logP)))));
    const more = drawable.length - OFTEN;
    return [
      make("p", { class: "tfm-panel-title" }, "What sampling writes, and how often"),
      table(["sentence", "drawn with", "model"], rows),
      more > 0 ? make("p", { class: "tfm-more" }, `and ${more} more, each less often`) : null,
    ];
  }

  const OFTEN = 5; // of the sentences that can be drawn, the likeliest

  const LISTED = 3; // of the finished sentences, the best

  const table = (heads, rows) => scroller("Numbers of the search", make("table", {},
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows)));

  // --- the outcome -------------------------------------------------------------------------------

  function outcome(view) {
    if (!view.isOver) return null;
    if (view.isDrawn) return drawnOutcome(view);
    const { best, target } = view;
    const isRight = spell(best) === `${target} ${END}`;
    return make("p", { class: "tfm-outcome" },
      make("strong", {}, quoted(spell(best))), " has probability ", probability("best-p", Math.exp(best.logP)), ". ",
      view.width > 1 ? comparison(view) : null,
      target ? (isRight ? "It is the right answer. ✓" : `The right answer is ${quoted(target)}. ✗`) : null);
  }

  function drawnOutcome({ best, greedy, drawable }) {
    const shareOf = (node) => (drawable.find(({ words }) => words.join(" ") === spell(node)) || { share: 0 }).share;
    return make("p", { class: "tfm-outcome" },
      make("strong", {}, quoted(spell(best))), " is drawn with probability ", probability("best-p", shareOf(best)), ". ",
      spell(best) === spell(greedy) ? "Greedy decoding writes the same." : ["Greedy decoding always writes ",
        quoted(spell(greedy)), ", which is drawn with ", probability("greedy-p", shareOf(greedy)), "."]);
  }

  function comparison({ best, greedy }) {
    if (spell(best) === spell(greedy)) return ["Greedy decoding writes the same. "];
    const isLikelier = best.logP > greedy.logP;
    const ratio = Math.exp(Math.abs(best.logP - greedy.logP));
    const but = best.score > greedy.score ? ", but the penalty favours the longer one. " : ": the beam has lost it. ";
    return [
      "Greedy decoding writes ", quoted(spell(greedy)), " with ", probability("greedy-p", Math.exp(greedy.logP)), ". ",
      isLikelier ? "The beam’s sentence is " : "That is ",
      number("ratio", ratio, ratio < 1.1 ? 2 : 1), " times as probable", isLikelier ? ". " : but,
    ];
  }

  const howItEnds = ({ most }, node) => (isWhole(node) ? "ends" : `is cut off at ${most} tokens`);

  // One sentence about the step that was just made.
  function sentence(view) {
    const { width, most, t, columns, isOver, front, bound } = view;
    if (view.isDrawn) return drawnSentence(view);
    if (t === 0) {
      const stay = width === 1 ? "likeliest continuation stays" : `${width} likeliest continuations stay`;
      return `Nothing is written yet. Press Step: the ${stay}. No sentence gets more than ${most} tokens.`;
    }
    const [first, ...others] = columns[t].filter((node, rank) => rank === 0 || node.ended);
    const p = format(Math.exp(first.logP), 3);
    const told = [`Step ${t}: ${quoted(spell(first))} ${first.ended ? howItEnds(view, first) : "leads"} with ${p}.`];
    const too = first.ended ? ", too" : "";
    if (others.length === 1) told.push(`${quoted(spell(others[0]))} ${howItEnds(view, others[0])}${too}.`);
    if (others.length > 1) told.push(`${others.length} others ${others.every(isWhole) ? "end" : "end or are cut off"}${too}.`);
    if (isOver) told.push("The search is over:");
    if (isOver) told.push(front.length ? `what is left can score ${format(bound, 3)} at most.` : "no beginning is left.");
    return told.join(" ");
  }

  function drawnSentence({ t, most, draw, columns }) {
    if (t === 0) return `Nothing is written yet. Press Step to draw a token. No sentence gets more than ${most} tokens.`;
    const node = columns[t].find(({ kept }) => kept);
    const end = !node.ended ? "." : isWhole(node) ? ", the end." : `, and the sentence is cut off at ${most} tokens.`;
    return `Step ${t}: the draw ${format(draw, 3)} falls to ${quoted(node.words.at(-1))}, which had ${format(node.share, 3)}${end}`;
  }

  // --- the explorer ------------------------------------------------------------------------------

  const isNumber = (settings, data) => "early" in data.presets[settings.preset].distributions;

  // Sampling may lead anywhere, so it needs what follows every beginning: of the table that is known.
  const isTable = (settings, data) => !isNumber(settings, data);
  const isSampled = (settings, data) => isTable(settings, data) && settings.how === "sample";
  const isSearched = (settings, data) => !isSampled(settings, data);

  const describe = ({ steps, right }) => `after ${steps} steps (${format(100 * right, 1)} % right)`;

  tfm.explorers.decoding = {
    title: "Decoding explorer",
    fields: ({ models }) => [
      {
        key: "model", kind: "choice", label: "Translator", when: isNumber, resets: { node: 0 },
        options: Object.entries(models).map(([name, model]) => [name, describe(model)]),
      },
      {
        key: "how", kind: "choice", label: "Decode by", when: isTable, resets: { node: 0 },
        options: [["search", "searching"], ["sample", "sampling"]],
      },
      { key: "temperature", kind: "slider", label: "Temperature", min: 0.1, max: 3, step: 0.1, digits: 1, when: isSampled },
      {
        key: "k", kind: "slider", label: "Top-k", min: 1, max: ALL, step: 1, when: isSampled,
        format: (k) => (k === ALL ? `${k}: all` : String(k)),
      },
      { key: "p", kind: "slider", label: "Top-p", min: 0.05, max: 1, step: 0.05, digits: 2, when: isSampled },
      { key: "seed", kind: "slider", label: "Draw", min: 1, max: 50, step: 1, resets: { node: 0 }, when: isSampled },
      {
        key: "width", kind: "slider", when: isSearched, label: "Width", min: 1, max: WIDEST, step: 1, resets: { node: 0 },
        format: (width) => (width === 1 ? "1: greedy" : String(width)),
      },
      { key: "alpha", kind: "slider", label: "Length penalty α", min: 0, max: 2, step: 0.1, digits: 1, when: isSearched },
      { key: "step", kind: "index" },
      { key: "node", kind: "index" },
    ],
    defaults: (data, preset) => ({
      model: "early", how: "search", width: 2, alpha: 0, temperature: 1, k: ALL, p: 1, seed: 1, step: 0, node: 0,
      ...data.presets[preset].start,
    }),
    draw(explorer, place) {
      const view = compute(explorer.settings, explorer.data);
      // As high as the longest distribution: else the page would jump under a mouse that crosses the tree.
      const lines = Math.max(...Object.values(view.follow).map((logP) => Object.keys(logP).length)) + 3;
      const detail = make("div", { style: `--lines:${lines}` });
      const look = (node) => detail.replaceChildren(...beginning(view, node));
      const scrolled = tree(explorer, view, look);
      const task = explorer.data.presets[explorer.settings.preset].source;
      place.append(...[
        task ? make("p", { class: "tfm-task" }, "To translate: ", make("strong", {}, task)) : null,
        stepper(explorer, view),
        scrolled,
        legend(view),
        make("div", { class: "tfm-panels" }, detail, make("div", {}, view.isDrawn ? drawn(view) : finished(view))),
        outcome(view),
      ].filter((part) => part !== null));
      look(view.chosen);
      // Once it is laid out: the reader sees what is chosen.
      requestAnimationFrame(() => reveal(scrolled, [scrolled.querySelector('[aria-pressed="true"]')]));
      explorer.say(sentence(view));
    },
  };
})();
