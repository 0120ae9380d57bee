// Looks for the words of a search in every section and exercise, and shows where they are: a link to
// the very place, and the words around. window.tfmPlaces comes from a script, so this works from disk.
(function () {
  "use strict";

  var SHOWN = 10; // the rest is behind a click
  var AROUND = 80; // characters of an excerpt on each side
  // What others call a thing that this book calls otherwise.
  var OTHER_NAMES = { causal: ["look", "ahead"], skip: ["residual"] };
  var REPEATS = ["Quiz", "Summary", "What comes next"]; // what a section before them is about

  // In lower case; a number like 4.3 is one word.
  var WORD = /\d+(?:\.\d+)*|[\p{L}_][\p{L}\p{N}_]*/gu;
  function words(text) {
    return (text || "").toLowerCase().match(WORD) || [];
  }

  // A word is found by its beginning, and "masks" by "mask"; a number as a whole or, 4 for 4.3, as a chapter's.
  function fits(wanted, word) {
    if (/\d/.test(wanted[0])) {
      return word === wanted || word.startsWith(wanted + ".");
    }
    return word.startsWith(wanted.replace(/(.{3})s$/, "$1"));
  }

  function areIn(query, text) {
    return query.every(function (wanted) {
      return text.some(fits.bind(null, wanted));
    });
  }

  // Where the words of the query follow each other.
  function phrases(query, text) {
    return text.reduce(function (found, _, start) {
      var isHere = query.every(function (wanted, n) {
        return start + n < text.length && fits(wanted, text[start + n]);
      });
      return isHere ? found.concat(start) : found;
    }, []);
  }

  // The more, the better; 0 for not found. Best is a title, then the place that introduces the words.
  function score(place, query) {
    var title = words(place.title), text = words(place.text), terms = words(place.terms);
    if (!areIn(query, title.concat(text, terms, words(place.code)))) {
      return 0;
    }
    var together = phrases(query, text).length;
    var points =
      1 +
      (areIn(query, title) ? 40 : 0) +
      (phrases(query, title).length ? 20 : 0) +
      (phrases(query, terms).length ? 20 : 0) +
      2 * Math.min(together, 15) +
      (areIn(query, text) ? 2 : 0);
    // Before the lists and summaries of a thing comes the chapter that explains it.
    return !place.kind ? points / 2 : REPEATS.includes(place.title) ? points / 4 : points;
  }

  function hasNumber(place, query) {
    return query.includes(place.number) && areIn(query, words(place.kind + " " + place.number + " " + place.title));
  }

  // The words as they are asked for, and as this book says them.
  function wordings(query) {
    var other = query.flatMap(function (word) {
      return OTHER_NAMES[word] || [word];
    });
    return other.join() === query.join() ? [query] : [query, other];
  }

  // Each place that is found with the wording that finds it, the best first. Who asks for a number means what
  // has it.
  function find(query) {
    var numbered = window.tfmPlaces.filter(function (place) {
      return hasNumber(place, query);
    });
    if (numbered.length) {
      return numbered.map(function (place) {
        return { place: place, query: query };
      });
    }
    return window.tfmPlaces
      .map(function (place) {
        return wordings(query)
          .map(function (wording) {
            return { place: place, query: wording, score: score(place, wording) };
          })
          .sort(better)[0];
      })
      .filter(function (found) {
        return found.score > 0;
      })
      .sort(better);
  }

  function better(one, other) {
    return other.score - one.score;
  }

  // --- what a reader sees ---

  function element(name, className, children) {
    var made = document.createElement(name);
    if (className) {
      made.className = className;
    }
    made.append.apply(made, children);
    return made;
  }

  // The text around the words, with the words marked.
  function excerpt(text, query) {
    var found = Array.from(text.toLowerCase().matchAll(WORD));
    var spelt = found.map(function (match) {
      return match[0];
    });
    var first = phrases(query, spelt)[0];
    if (first === undefined) {
      first = spelt.findIndex(function (word) {
        return query.some(function (wanted) {
          return fits(wanted, word);
        });
      });
    }
    var middle = first < 0 ? 0 : found[first].index;
    var from = middle > AROUND ? text.indexOf(" ", middle - AROUND) + 1 : 0;
    var to = text.indexOf(" ", Math.max(middle, from) + 2 * AROUND);
    to = to < 0 ? text.length : to;
    var parts = [from ? "… " : ""], at = from;
    found.forEach(function (match) {
      var end = match.index + match[0].length;
      var isWanted = query.some(function (wanted) {
        return fits(wanted, match[0]);
      });
      if (isWanted && match.index >= from && end <= to) {
        parts.push(text.slice(at, match.index), element("mark", "", [text.slice(match.index, end)]));
        at = end;
      }
    });
    parts.push(text.slice(at, to), to < text.length ? " …" : "");
    return element("p", "context", parts);
  }

  function name(place) {
    var number = place.number ? place.kind + " " + place.number : "";
    return [number, place.title].filter(Boolean).join(": ");
  }

  function item(found) {
    var place = found.place;
    var link = element("a", "", [name(place)]);
    link.href = place.page + (place.anchor ? "#" + place.anchor : "");
    var line = element("li", "", [link]);
    if (place.within) {
      line.append(" ", element("span", "tfm-within", [place.within]));
    }
    if (place.text) {
      line.append(excerpt(place.text, found.query));
    }
    return line;
  }

  function list(found) {
    return element("ul", "", found.map(item));
  }

  function show(title, id, found) {
    if (!found.length) {
      return;
    }
    var section = element("section", "tfm-found", [element("h2", "", [title]), list(found.slice(0, SHOWN))]);
    section.id = id;
    var rest = found.slice(SHOWN);
    if (rest.length) {
      section.append(element("details", "", [element("summary", "", [rest.length + " more"]), list(rest)]));
    }
    document.getElementById("search-results").append(section);
  }

  function say(sentence) {
    var said = element("p", "tfm-said", [sentence]);
    said.setAttribute("role", "status");
    document.getElementById("search-results").append(said);
  }

  function count(number, one) {
    return number + " " + one + (number === 1 ? "" : "s");
  }

  function isExercise(found) {
    return found.place.kind === "Exercise";
  }

  var asked = new URLSearchParams(location.search).get("q") || "";
  var query = words(asked);
  if (!query.length) {
    return;
  }
  document.querySelector("form.bd-search input").value = asked;
  var all = find(query);
  var exercises = all.filter(isExercise);
  var places = all.filter(function (found) {
    return !isExercise(found);
  });
  say(
    all.length
      ? "Found " + count(places.length, "place") + " and " + count(exercises.length, "exercise") + "."
      : "Nothing found. Try fewer words, or the number of a section, an equation or an exercise."
  );
  show("In the book", "tfm-found-places", places);
  show("Exercises", "tfm-found-exercises", exercises);
})();
