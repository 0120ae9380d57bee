// Among the search results, what has a number: exercises, by title and by words of the statement, too;
// chapters, sections and equations by their numbers alone, as Sphinx finds their words itself.
(function () {
  "use strict";

  // In lower case; a number like 4.3 is one word.
  function words(text) {
    return text.toLowerCase().match(/\d+(?:\.\d+)*|[\p{L}_][\p{L}\p{N}_]*/gu) || [];
  }

  // A word is found by its beginning, and "masks" by "mask"; a number as a whole or, 4 for 4.3, as a chapter's.
  function isIn(wanted, text) {
    var isNumber = /\d/.test(wanted[0]);
    var stem = isNumber ? wanted : wanted.replace(/(.{3})s$/, "$1");
    return text.some(function (word) {
      return isNumber ? word === wanted || word.startsWith(wanted + ".") : word.startsWith(stem);
    });
  }

  function areIn(query, text) {
    return query.every(function (wanted) {
      return isIn(wanted, text);
    });
  }

  // 0 for the number itself, 1 for the title, 2 for the statement, 3 for not found.
  function rank(entry, query) {
    var title = words(entry.kind + " " + entry.number + " " + entry.title);
    var all = title.concat(words(entry.statement || ""));
    if (query.includes(entry.number) && areIn(query, all)) {
      return 0;
    }
    if (entry.kind !== "Exercise") {
      return 3;
    }
    return areIn(query, title) ? 1 : areIn(query, all) ? 2 : 3;
  }

  function find(query) {
    var ranked = window.tfmNumbered.map(function (entry) {
      return { entry: entry, rank: rank(entry, query) };
    });
    return ranked
      .filter(function (found) {
        return found.rank < 3;
      })
      .sort(function (one, other) {
        return one.rank - other.rank;
      })
      .map(function (found) {
        return found.entry;
      });
  }

  function item(entry) {
    var link = document.createElement("a");
    link.href = entry.page + "#" + entry.anchor; // a chapter has none, and begins at the top
    link.textContent = entry.kind + " " + entry.number + (entry.title ? ": " + entry.title : "");
    var line = document.createElement("li");
    line.append(link);
    return line;
  }

  function show(title, id, entries) {
    if (!entries.length) {
      return;
    }
    var heading = document.createElement("h2");
    heading.textContent = title;
    var list = document.createElement("ul");
    list.append.apply(list, entries.map(item));
    var section = document.createElement("section");
    section.id = id;
    section.className = "tfm-found";
    section.append(heading, list);
    document.getElementById("search-results").before(section);
  }

  // Signs for what TeX spells; a function keeps its name, and any other command is left out.
  var SIGNS = {
    sqrt: "√", sum: "∑", prod: "∏", top: "⊤", times: "×", cdot: "·", cdots: "…", dots: "…", ldots: "…", infty: "∞",
    le: "≤", ge: "≥", ne: "≠", neq: "≠", approx: "≈", "in": "∈", partial: "∂", odot: "⊙", propto: "∝", to: "→",
    alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", varepsilon: "ε", theta: "θ", lambda: "λ", mu: "μ",
    pi: "π", sigma: "σ", tau: "τ", phi: "φ", omega: "ω", Delta: "Δ", Sigma: "Σ", Phi: "Φ",
    exp: "exp", log: "log", ln: "ln", sin: "sin", cos: "cos", tan: "tan", tanh: "tanh", max: "max", min: "min",
  };

  function plainFormula(tex) {
    return tex
      .replace(/\\(?:begin|end|label|tag)\{[^}]*\}/g, " ")
      .replace(/\}\s*\{/g, " / ") // the two parts of a fraction
      .replace(/\\([a-zA-Z]+)\*?/g, function (command, name) {
        return SIGNS[name] || " ";
      })
      .replace(/\\.|[{}&]/g, " ")
      .replace(/√\s+/g, "√")
      .replace(/\s+/g, " ")
      .trim();
  }

  // Excerpts are what a reader reads: without the note on top of a chapter, and without TeX's commands.
  function tidyExcerpts() {
    var plain = Search.htmlToText;
    Search.htmlToText = function (html, anchor) {
      var page = new DOMParser().parseFromString(html, "text/html");
      page.querySelectorAll(".tfm-work").forEach(function (note) {
        note.remove();
      });
      page.querySelectorAll(".math").forEach(function (formula) {
        formula.textContent = plainFormula(formula.textContent);
      });
      return plain(page.documentElement.outerHTML, anchor);
    };
  }

  var query = words(new URLSearchParams(location.search).get("q") || "");
  var found = query.length ? find(query) : [];
  function isExercise(entry) {
    return entry.kind === "Exercise";
  }
  tidyExcerpts();
  show("Exercises", "tfm-found-exercises", found.filter(isExercise));
  show("Chapters, sections and equations", "tfm-found-places", found.filter(function (entry) {
    return !isExercise(entry);
  }));
})();
