// Exercises among the search results: by number, by title, by words of the statement.
(function () {
  "use strict";

  // In lower case; a number like 4.3 is one word.
  function words(text) {
    return text.toLowerCase().match(/\d+(?:\.\d+)*|[\p{L}_][\p{L}\p{N}_]*/gu) || [];
  }

  // A word is found by its beginning, a number as a whole or, 4 for 4.3, as a chapter's.
  function isIn(wanted, text) {
    return text.some(function (word) {
      return /\d/.test(wanted[0])
        ? word === wanted || word.startsWith(wanted + ".")
        : word.startsWith(wanted);
    });
  }

  // 0 for the number itself, 1 for the title, 2 for the statement, 3 for not found.
  function rank(exercise, query) {
    var title = words("exercise " + exercise.number + " " + exercise.title);
    var all = title.concat(words(exercise.statement));
    if (query.includes(exercise.number)) {
      return 0;
    }
    return [title, all].findIndex(function (text) {
      return query.every(function (wanted) {
        return isIn(wanted, text);
      });
    }) + 1 || 3;
  }

  function find(query) {
    var ranked = window.tfmExercises.map(function (exercise) {
      return { exercise: exercise, rank: rank(exercise, query) };
    });
    return ranked
      .filter(function (found) {
        return found.rank < 3;
      })
      .sort(function (one, other) {
        return one.rank - other.rank;
      })
      .map(function (found) {
        return found.exercise;
      });
  }

  function item(exercise) {
    var link = document.createElement("a");
    link.href = exercise.page + "#" + exercise.anchor;
    link.textContent = "Exercise " + exercise.number + ": " + exercise.title;
    var line = document.createElement("li");
    line.append(link);
    return line;
  }

  function show(exercises) {
    var heading = document.createElement("h2");
    heading.textContent = "Exercises";
    var list = document.createElement("ul");
    list.append.apply(list, exercises.map(item));
    var section = document.createElement("section");
    section.id = "tfm-found-exercises";
    section.append(heading, list);
    document.getElementById("search-results").before(section);
  }

  var query = words(new URLSearchParams(location.search).get("q") || "");
  var found = query.length ? find(query) : [];
  if (found.length) {
    show(found);
  }
})();
