// The tokens explorer: a text falls into words, and into bytes that merge into tokens, step by step.
//
// The merges of a vocabulary are applied in the order in which they were learned. A merge makes pairs for later
// merges only, so all texts can be cut with the first n merges: with n = 0 the tokens are bytes.
(function () {
  "use strict";

  const { make, scroller, quoted } = tfm;
  const SPECIAL = 3; // ids before that of byte 0
  const BYTES = 256;
  const LONGEST = 80; // characters of a text

  // --- what is computed: tfmlib.tokenizer ---------------------------------------------------------

  // Python's white space, letters and digits, which JavaScript's \s and \w are not.
  const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const LETTER = "\\p{L}\\p{Nl}\\p{No}";
  const PIECE = new RegExp([
    `[ ]?[${LETTER}]{1,64}`,
    "[ ]?\\p{Nd}{1,64}",
    `[ ]?[^${LETTER}\\p{Nd}${SPACE}]{1,64}`,
    `[${SPACE}]{1,64}(?![^${SPACE}])`,
    `[${SPACE}]`,
  ].join("|"), "gu");
  const WORD = new RegExp(`[${LETTER}\\p{Nd}_]+(?:['’][${LETTER}\\p{Nd}_]+)*`, "gu");

  const splitPieces = (text) => text.match(PIECE) || [];

  const splitWords = (text) => text.toLowerCase().normalize("NFC").match(WORD) || [];

  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { fatal: true });

  // The bytes behind each id that is no special token.
  function piecesOf(merges) {
    const pieces = Array.from({ length: BYTES }, (_, byte) => [byte]);
    for (const [left, right] of merges) pieces.push([...pieces[left - SPECIAL], ...pieces[right - SPECIAL]]);
    return pieces;
  }

  const idOf = (n) => SPECIAL + BYTES + n; // of what merge n makes

  // Merge n, everywhere in a word, from left to right.
  function merge(ids, [left, right], n) {
    const merged = [];
    for (let i = 0; i < ids.length; i += 1) {
      const isPair = ids[i] === left && ids[i + 1] === right;
      merged.push(isPair ? idOf(n) : ids[i]);
      i += Number(isPair);
    }
    return merged;
  }

  // The ids of a word after the first `count` merges.
  const encodeWord = (word, merges, count) =>
    merges.slice(0, count).reduce(merge, [...encoder.encode(word)].map((byte) => byte + SPECIAL));

  const encode = (text, merges, count) => splitPieces(text).map((word) => encodeWord(word, merges, count));

  // Which merges change the text, in their order.
  function usedIn(text, merges) {
    let words = encode(text, merges, 0);
    return merges.map((_, n) => n).filter((n) => {
      const before = words.flat().length;
      words = words.map((ids) => merge(ids, merges[n], n));
      return words.flat().length < before;
    });
  }

  // A token as a reader sees it: a part of a character appears as its bytes, a space as ␣.
  function readable(bytes) {
    try {
      return decoder.decode(new Uint8Array(bytes)).replaceAll(" ", "␣");
    } catch (error) {
      return bytes.map((byte) => (byte < 128 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)).join("");
    }
  }

  tfm.tokens = { splitPieces, splitWords, encode };

  // --- the picture --------------------------------------------------------------------------------

  function look({ text, merges: count }, data) {
    const pieces = piecesOf(data.merges);
    const used = usedIn(text, data.merges);
    const name = (id) => readable(pieces[id - SPECIAL]);
    const done = used.filter((n) => n < count);
    return {
      text, count, used, done, name,
      words: encode(text, data.merges, count),
      bytes: encoder.encode(text).length,
      parts: (n) => data.merges[n].map(name),
      isKnown: (word) => data.words.includes(word),
    };
  }

  const counted = (count) => `${count} token${count === 1 ? "" : "s"}`;

  function chips(view) {
    const newest = view.done.length ? idOf(view.done.at(-1)) : null;
    const chip = (id) => make("li", {
      class: id === newest ? "tfm-newest" : null, "data-id": id,
    }, make("b", {}, view.name(id)), make("span", {}, String(id)));
    const words = view.words.map((ids) => make("li", {}, make("ol", {}, ids.map(chip))));
    return scroller("The tokens of the text", make("ol", { class: "tfm-chips", "aria-label": "Tokens with their ids, word by word" }, words));
  }

  function wordRow(view) {
    const words = splitWords(view.text);
    const shown = words.map((word) => make("li", { class: view.isKnown(word) ? null : "tfm-unknown" }, view.isKnown(word) ? word : "<unk>"));
    const lost = words.filter((word) => !view.isKnown(word)).length;
    return [
      make("p", { class: "tfm-row-title" }, `With a list of words: ${counted(words.length)}, ${lost} unknown`),
      make("ol", { class: "tfm-words" }, shown),
    ];
  }

  // To the next merge that changes this text, or back before the last one.
  function stepper(explorer, view) {
    const next = view.used.find((n) => n >= view.count);
    const action = (name, label, isIdle, merges) => make("button", {
      type: "button", "data-key": `${explorer.id}.${name}`, "aria-disabled": String(isIdle),
      onclick: () => { if (!isIdle) explorer.set({ merges }); },
    }, label);
    const last = view.done.at(-1);
    return make("div", { class: "tfm-steps", role: "group", "aria-label": "Merges of this text" },
      action("back", "← Back", last === undefined, last),
      action("forward", "Next merge →", next === undefined, next + 1),
      make("span", {}, `${view.done.length} of ${view.used.length} merges that this text needs`));
  }

  function sentence(view) {
    const now = `${view.bytes} bytes, ${counted(view.words.flat().length)}.`;
    if (!view.done.length) return `${now} No merge yet: every token is a byte.`;
    const last = view.done.at(-1);
    const [left, right] = view.parts(last);
    return `${now} The last merge, number ${last + 1}: ${quoted(left)} + ${quoted(right)} → ${quoted(view.name(idOf(last)))}.`;
  }

  tfm.explorers.tokens = {
    title: "Tokens explorer",
    fields: ({ merges }) => [
      { key: "text", kind: "text", label: "Text", longest: LONGEST },
      {
        key: "merges", kind: "slider", label: "Merges learned", min: 0, max: merges.length, step: 1,
        format: (count) => (count === 0 ? "0: bytes" : String(count)),
      },
    ],
    defaults: ({ merges, presets }, preset) => ({ text: presets[preset].text, merges: merges.length }),
    draw(explorer, place) {
      const view = look(explorer.settings, explorer.data);
      if (!view.bytes) {
        explorer.say("Type a text, and see it fall into tokens.");
        return;
      }
      place.append(
        ...wordRow(view),
        make("p", { class: "tfm-row-title" }, `With byte pairs: ${counted(view.words.flat().length)}, nothing unknown`),
        stepper(explorer, view), chips(view),
      );
      explorer.say(sentence(view));
    },
  };
})();
