// Small comforts on top of the theme. Every page reads well without them.
(function () {
  "use strict";

  var SCROLLERS =
    'mjx-container[display="true"], mjx-container.tfm-wide, .pst-scrollable-table-container, ' +
    "pre, .cell_output > .output";

  // A formula inside a line that is wider than the page gets a line of its own, to scroll in.
  function markWideFormulas() {
    document.querySelectorAll('mjx-container:not([display="true"])').forEach(function (box) {
      box.classList.remove("tfm-wide", "tfm-scrolls");
      box.removeAttribute("tabindex");
      var room = box.closest("p, li, td, th, dd, summary, figcaption, section").clientWidth;
      box.classList.toggle("tfm-wide", box.offsetWidth > room);
    });
  }

  // Whoever cannot use a mouse must be able to scroll a long equation or a wide table: while it does
  // not fit, it has a place in the tab order. The theme looks before the equations are set.
  function markScrollers() {
    markWideFormulas();
    document.querySelectorAll(SCROLLERS).forEach(function (box) {
      var scrolls = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("tfm-scrolls", scrolls);
      if (scrolls) {
        box.setAttribute("tabindex", "0");
      } else {
        box.removeAttribute("tabindex");
      }
    });
  }

  // The sentence behind a badge: shown by the style sheet at once, on hover and on focus, so that the
  // browser's own late and mouse-only tooltip is not needed.
  function showSentences() {
    document.querySelectorAll('a[href*="ledger.html#"][title]').forEach(function (badge) {
      badge.dataset.sentence = badge.title;
      badge.setAttribute("aria-description", badge.title);
      badge.removeAttribute("title");
    });
  }

  // The theme leaves it to Bootstrap to show what some of its buttons do.
  function showTitles() {
    document.querySelectorAll("button[data-bs-title]").forEach(function (button) {
      button.title = button.dataset.bsTitle;
    });
  }

  // The theme takes the focus from a button that was pressed, and whoever uses a keyboard would begin anew.
  function keepFocus() {
    document.querySelectorAll(".theme-switch-button, .search-button, .primary-toggle, .secondary-toggle")
      .forEach(function (button) {
        button.blur = function () {};
      });
  }

  // A closed quiz prints open, and closes again afterwards.
  function openForPrint() {
    document.querySelectorAll("article details:not([open])").forEach(function (quiz) {
      quiz.open = true;
      quiz.dataset.printed = "";
    });
  }

  function closeAfterPrint() {
    document.querySelectorAll("details[data-printed]").forEach(function (quiz) {
      quiz.open = false;
      delete quiz.dataset.printed;
    });
  }

  // Whoever turns back on a long page is offered the way up, as the theme's own script would do.
  function offerWayUp() {
    var button = document.getElementById("pst-back-to-top");
    var last = window.scrollY;
    window.addEventListener("scroll", function () {
      var turnedBack = window.scrollY < last && window.scrollY > window.innerHeight;
      button.style.display = turnedBack ? "block" : "none";
      last = window.scrollY;
    }, { passive: true });
    button.addEventListener("click", function () {
      window.scrollTo(0, 0);
    });
  }

  function start() {
    showSentences();
    showTitles();
    keepFocus();
    offerWayUp();
    var startup = window.MathJax && window.MathJax.startup;
    if (startup && startup.promise) {
      startup.promise.then(markScrollers);
    }
    window.addEventListener("resize", markScrollers);
    window.addEventListener("beforeprint", openForPrint);
    window.addEventListener("afterprint", closeAfterPrint);
  }

  if (document.readyState === "complete") {
    start();
  } else {
    window.addEventListener("load", start);
  }
})();
