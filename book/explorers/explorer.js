// What all explorers share: controls, settings in the address, keyboard and focus.
//
// A kind of explorer registers itself:
//
//   tfm.explorers.attention = {
//     title: "Attention explorer",
//     fields(data) -> [{key, label, kind: "slider" | "switch" | "choice" | "select" | "text" | "index", ...}],
//                                                    // `when` it is shown; what other settings it `resets`;
//                                                    // what it is `called`, if that depends on the settings
//     defaults(data, preset) -> {key: value, ...},   // the settings of a preset
//     note(explorer) -> [node or text, ...],         // if any: what to look for in the chosen example
//     draw(explorer, place),                         // fill `place` from explorer.settings
//   };
//
// An example may ask a `question` before it shows anything: {ask, choices, right, reason, shows}. Its key was
// computed when the book was built; `shows` are the settings at which the answer can be seen.
//
// Settings are numbers, booleans and strings. Those that differ from the preset's stand in the address,
// so that a link leads to exactly what its sender saw.
(function () {
  "use strict";

  const tfm = (window.tfm = window.tfm || {});
  tfm.explorers = tfm.explorers || {};

  // --- elements -------------------------------------------------------------------------------

  // make("p", {class: "note"}, "text", child, ...): attributes whose value is null or false are left out.
  function make(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }

  function makeSvg(tag, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  }

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  // A box for what may be too wide: it scrolls, and while it does, the keyboard can reach it.
  function scroller(name, ...children) {
    const box = make("div", { class: "tfm-scroll" }, ...children);
    new ResizeObserver(() => {
      const isWide = box.scrollWidth > box.clientWidth + 1;
      for (const [key, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": name })) {
        if (isWide) box.setAttribute(key, value);
        else box.removeAttribute(key);
      }
    }).observe(box);
    return box;
  }

  // Scroll a box as little as shows all of these parts, if they are not in sight; `left` of it is covered.
  function reveal(box, parts, left = 0) {
    const frame = box.getBoundingClientRect();
    const places = parts.map((part) => part.getBoundingClientRect());
    const before = Math.min(...places.map((place) => place.left)) - frame.left - left;
    const behind = Math.max(...places.map((place) => place.right)) - frame.right;
    if (before < 0) box.scrollLeft += before;
    else if (behind > 0) box.scrollLeft += behind;
  }

  // A number as a reader wants it: a true minus, no -0.00, ∞ as a sign.
  function format(value, digits = 2) {
    if (value === -Infinity) return "−∞";
    if (value === Infinity) return "∞";
    const text = value.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  }

  // A number in the page that carries all of its digits, and a name where tests look for one.
  const number = (name, value, digits = 2) =>
    make("span", { "data-name": name, "data-value": value }, format(value, digits));

  // Words that are written from right to left leave the order of the sentence around them alone.
  const quoted = (text) => (/\p{Script=Hebrew}|\p{Script=Arabic}/u.test(text) ? `“\u2068${text}\u2069”` : `“${text}”`);

  // --- chance ---------------------------------------------------------------------------------

  // The numbers between 0 and 1 that book.explorers.uniforms gives for the same seed, one a call.
  function uniforms(seed) {
    const [factor, modulus] = [48271, 2 ** 31 - 1];
    let state = (seed * 1000003) % modulus;
    return () => {
      state = (factor * state) % modulus; // below 2^53: exact
      return state / modulus;
    };
  }

  // --- printed figures ------------------------------------------------------------------------

  // How far a figure may be off comes with it, from tfmlib.ledger.printed: there is no rule here.
  const offBy = (figure, value) => Math.abs(value - Number(figure));
  const agrees = (figure, tolerance, value) => offBy(figure, value) <= tolerance;

  // Where an entry stands in the ledger, seen from a chapter.
  const inLedger = (id) => `../book/pages/generated/ledger.html#${id}`;

  // --- fields ---------------------------------------------------------------------------------

  // Each kind of field: the control, how it shows a value, and what it accepts from an address.
  const FIELDS = {
    // From min to max by step, or along a list of `values`.
    slider: {
      build(field, id, change) {
        const { values } = field;
        const { min, max, step } = values ? { min: 0, max: values.length - 1, step: 1 } : field;
        const input = make("input", {
          type: "range", id, min, max, step, "data-key": id,
          oninput: () => change(values ? values[Number(input.value)] : Number(input.value)),
        });
        const shown = (field.typed ? typedNumber : shownNumber)(field, id, change);
        const show = field.format || ((value) => format(value, field.digits || 0));
        const label = make("label", { for: id }, field.label);
        const update = (value, settings, data) => {
          const text = show(value, settings, data);
          input.value = values ? values.indexOf(value) : value;
          input.setAttribute("aria-valuetext", text);
          shown.update(value, text);
          if (field.called) label.textContent = field.called(settings, data);
        };
        return { element: make("div", { class: "tfm-field" }, label, input, shown.element), update };
      },
      read(field, text) {
        const value = Number(text);
        if (field.values) return field.values.find((own) => own === value);
        const inRange = text.trim() !== "" && value >= field.min && value <= field.max;
        const steps = (value - field.min) / field.step;
        return inRange && Math.abs(steps - Math.round(steps)) < 1e-6 ? value : undefined;
      },
      write: String,
    },
    switch: {
      build(field, id, change) {
        const input = make("input", {
          type: "checkbox", role: "switch", id, "data-key": id, onchange: () => change(input.checked),
        });
        const element = make("div", { class: "tfm-field tfm-switch" }, input, make("label", { for: id }, field.label));
        return { element, update: (value) => { input.checked = value; } };
      },
      read: (field, text) => (text === "on" || text === "off" ? text === "on" : undefined),
      write: (value) => (value ? "on" : "off"),
    },
    choice: {
      build(field, id, change) {
        const inputs = field.options.map(([value, label]) => [value, label, make("input", {
          type: "radio", name: id, id: `${id}-${value}`, value, "data-key": `${id}-${value}`, onchange: () => change(value),
        })]);
        const buttons = inputs.map(([value, label, input]) => make("span", {}, input, make("label", { for: input.id }, label)));
        const element = make("fieldset", { class: "tfm-field tfm-choice" }, make("legend", {}, field.label), make("div", {}, buttons));
        return { element, update: (value) => inputs.forEach(([own, , input]) => { input.checked = own === value; }) };
      },
      read: (field, text) => field.options.map(([value]) => value).find((value) => value === text),
      write: String,
    },
    select: {
      build(field, id, change) {
        const options = field.options.map(([value, label]) => make("option", { value }, label));
        const input = make("select", { id, "data-key": id, onchange: () => change(input.value) }, options);
        const element = make("div", { class: "tfm-field" }, make("label", { for: id }, field.label), input);
        return { element, update: (value) => { input.value = value; } };
      },
      read: (field, text) => FIELDS.choice.read(field, text),
      write: String,
    },
    text: {
      build(field, id, change) {
        const input = make("input", {
          type: "text", id, "data-key": id, maxlength: field.longest, autocomplete: "off", spellcheck: "false", dir: "auto",
          oninput: () => change(input.value),
        });
        const element = make("div", { class: "tfm-field tfm-text" }, make("label", { for: id }, field.label), input);
        // A reader in the middle of typing keeps the cursor.
        return { element, update: (value) => { if (input.value !== value) input.value = value; } };
      },
      read: (field, text) => text.slice(0, field.longest),
      write: String,
    },
    // A place in a list, from 0 on, that the reader chooses in the drawing: it has no control.
    index: {
      read: (field, text) => (/^\d{1,3}$/.test(text) ? Number(text) : undefined),
      write: String,
    },
  };

  // Beside a slider stands its value: to read, or (`typed: true`) a box to type it into. The slider itself
  // says it to a screen reader; an output that is heard would say it once more.
  function shownNumber(field, id) {
    const element = make("output", { for: id, "aria-hidden": "true" });
    return { element, update: (value, text) => { element.textContent = text; } };
  }

  function typedNumber(field, id, change) {
    let current;
    const element = make("input", {
      type: "number", min: field.min, max: field.max, step: field.step, "data-key": `${id}.typed`,
      "aria-label": `${field.label}, as a number`,
      oninput: () => {
        const value = FIELDS.slider.read(field, element.value);
        if (value !== undefined) change(value); // half a number is left alone
      },
      onchange: () => { element.value = current; },
    });
    const update = (value) => {
      current = value;
      if (element.value === "" || Number(element.value) !== value) element.value = value;
    };
    return { element, update };
  }

  // --- an explorer ----------------------------------------------------------------------------

  class Explorer {
    constructor(box, kind, data) {
      this.box = box;
      this.kind = kind;
      this.data = data;
      this.id = box.id;
      this.start = box.dataset.preset;
      this.settings = this.fromAddress(new URLSearchParams(location.search));
      this.asks = !this.isInAddress(); // whoever follows a link is to see what its sender saw
      this.answers = {}; // by preset: the choice that the reader made
      this.build();
      this.refresh();
    }

    isInAddress() {
      return [...new URLSearchParams(location.search).keys()].some((name) => name.startsWith(`${this.id}.`));
    }

    presetField() {
      const options = Object.entries(this.data.presets).map(([name, preset]) => [name, preset.title]);
      return { key: "preset", kind: "select", label: this.kind.presetLabel || "Example", options };
    }

    fields() {
      return [this.presetField(), ...this.kind.fields(this.data)];
    }

    defaults(preset) {
      return { preset, ...this.kind.defaults(this.data, preset) };
    }

    // Settings from an address. What it does not say, or says wrongly, stays as in the preset.
    fromAddress(parameters) {
      const said = (field) => {
        const text = parameters.get(`${this.id}.${field.key}`);
        return text === null ? undefined : FIELDS[field.kind].read(field, text);
      };
      const settings = this.defaults(said(this.presetField()) || this.start);
      for (const field of this.kind.fields(this.data)) {
        const value = said(field);
        if (value !== undefined) settings[field.key] = value;
      }
      return settings;
    }

    // The address of this page with these settings, and with those of other explorers as they stand.
    toAddress() {
      const address = new URL(location.href);
      const defaults = this.defaults(this.settings.preset);
      for (const field of this.fields()) {
        const name = `${this.id}.${field.key}`;
        const usual = field.key === "preset" ? this.start : defaults[field.key];
        if (this.settings[field.key] === usual) address.searchParams.delete(name);
        else address.searchParams.set(name, FIELDS[field.kind].write(this.settings[field.key]));
      }
      return address;
    }

    // The same, leading right to this explorer: for others. Ours keeps the place that the reader has chosen.
    toLink() {
      const address = this.toAddress();
      address.hash = this.id;
      return address.href;
    }

    // Change some settings. Another preset brings all of its own.
    set(changes) {
      const isOther = changes.preset !== undefined && changes.preset !== this.settings.preset;
      const base = isOther ? this.defaults(changes.preset) : this.settings;
      this.settings = { ...base, ...changes };
      this.refresh();
      this.remember();
    }

    remember() {
      clearTimeout(this.timer); // browsers refuse an address that changes too often
      this.timer = setTimeout(() => {
        try {
          history.replaceState(history.state, "", this.toAddress());
          written = location.search;
        } catch (error) {
          // Some browsers keep the address of a page from disk as it is; the link button still works.
        }
      }, 150);
    }

    // The reader went back or forward to an address with other settings.
    comeBack() {
      clearTimeout(this.timer);
      this.settings = this.fromAddress(new URLSearchParams(location.search));
      this.asks = this.asks && !this.isInAddress();
      this.refresh();
    }

    build() {
      this.controls = this.fields().filter((field) => FIELDS[field.kind].build).map((field) => {
        const id = `${this.id}.${field.key}`;
        const control = FIELDS[field.kind].build(field, id, (value) => this.set({ ...field.resets, [field.key]: value }));
        return { field, ...control };
      });
      this.question = make("fieldset");
      this.reason = make("p", { role: "status" });
      this.asking = make("div", { class: "tfm-question" }, this.question, this.reason);
      this.note = make("p", { class: "tfm-note" });
      this.place = make("div", { class: "tfm-stage" });
      this.said = make("p", { class: "tfm-said", "aria-live": "polite" });
      const heading = { class: "tfm-title", id: `${this.id}.title`, role: "heading", "aria-level": 3 };
      const title = make("p", heading, this.kind.title);
      this.box.setAttribute("role", "group");
      this.box.setAttribute("aria-labelledby", title.id);
      const [example, ...others] = this.controls.map((control) => control.element);
      this.box.replaceChildren(
        make("div", { class: "tfm-head" }, title, this.buttons()),
        make("div", { class: "tfm-controls" }, example, this.asking, this.note, others),
        this.place,
        this.said,
      );
    }

    buttons() {
      const reset = make("button", { type: "button", "data-key": `${this.id}.reset`, onclick: () => this.reset() }, "Reset");
      const copy = make("button", { type: "button", "data-key": `${this.id}.link`, onclick: () => this.copyLink(copy) }, "Copy link");
      this.asker = make("button", { type: "button", "data-key": `${this.id}.ask`, onclick: () => this.ask() }, "Ask me");
      return make("div", { class: "tfm-buttons" }, this.asker, reset, copy);
    }

    // --- the question

    // A question waits for an answer: until then the example shows nothing.
    isWaiting() {
      return this.asks && Boolean(this.asked()) && this.answers[this.settings.preset] === undefined;
    }

    asked() {
      return this.data.presets[this.settings.preset].question;
    }

    answer(choice) {
      if (!this.isWaiting()) return;
      this.answers[this.settings.preset] = choice;
      this.set(this.asked().shows);
    }

    // The reader wants to see at once: no example of this explorer asks any more, until somebody presses “Ask me”.
    skip() {
      this.asks = false;
      this.refresh();
      this.focusOn("preset");
    }

    ask() {
      this.asks = true;
      delete this.answers[this.settings.preset];
      this.settings = this.defaults(this.settings.preset);
      this.refresh();
      this.remember();
      this.focusOn("answer-0");
    }

    focusOn(name) {
      this.box.querySelector(`[data-key="${CSS.escape(this.id)}.${name}"]`).focus({ preventScroll: true });
    }

    drawQuestion() {
      const question = this.asked();
      this.box.classList.toggle("tfm-waiting", this.isWaiting()); // a caption could give the answer away
      this.asking.hidden = !this.asks || !question;
      this.asker.hidden = this.asks || !question;
      if (this.asking.hidden) {
        this.question.replaceChildren();
        this.reason.textContent = "";
        return;
      }
      const { ask, choices, right, reason } = question;
      const chosen = this.answers[this.settings.preset];
      const isOpen = this.isWaiting();
      const sign = (n) => (isOpen ? "" : n === right ? " ✓" : n === chosen ? " ✗" : "");
      const buttons = choices.map((choice, n) => make("button", {
        type: "button", "data-key": `${this.id}.answer-${n}`, onclick: () => this.answer(n),
        "aria-pressed": String(n === chosen), "aria-disabled": String(!isOpen),
        class: sign(n) === " ✓" ? "tfm-right" : null,
      }, choice + sign(n)));
      const skip = make("button", { type: "button", class: "tfm-skip", "data-key": `${this.id}.skip`, onclick: () => this.skip() }, "Show me");
      this.question.replaceChildren(make("legend", {}, make("strong", {}, "Predict first. "), ask), ...buttons, ...(isOpen ? [skip] : []));
      const verdict = chosen === right ? "Right." : `The answer: ${choices[right]}.`;
      this.reason.textContent = isOpen ? "" : `${verdict} ${reason}`;
    }

    // The chosen example as it began.
    reset() {
      this.settings = this.defaults(this.settings.preset);
      this.refresh();
      this.remember();
    }

    async copyLink(button) {
      const address = this.toLink();
      try {
        await navigator.clipboard.writeText(address);
        button.textContent = "Copied";
      } catch (error) {
        window.prompt("Copy this link:", address); // where a page may not write the clipboard
      }
      setTimeout(() => { button.textContent = "Copy link"; }, 2000);
    }

    // Draw everything from the settings; whoever had the focus keeps it, and what was scrolled stays so.
    refresh() {
      const scrolled = this.scrollers().map((box) => box.scrollLeft);
      const focused = this.box.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      for (const { field, element, update } of this.controls) {
        update(this.settings[field.key], this.settings, this.data);
        const isOff = field.key !== "preset" && this.isWaiting();
        element.hidden = isOff || (field.when ? !field.when(this.settings, this.data) : false);
      }
      this.drawQuestion();
      this.note.replaceChildren(...(this.kind.note && !this.isWaiting() ? this.kind.note(this) : []));
      this.note.hidden = !this.note.hasChildNodes();
      this.place.replaceChildren();
      if (this.isWaiting()) this.say("");
      else this.kind.draw(this, this.place);
      this.scrollers().forEach((box, n) => { if (scrolled[n]) box.scrollLeft = scrolled[n]; });
      const again = focused && this.box.querySelector(`[data-key="${CSS.escape(focused)}"]`);
      if (again && again !== document.activeElement) again.focus({ preventScroll: true });
    }

    scrollers() {
      return [...this.place.querySelectorAll(".tfm-scroll")];
    }

    // One sentence for everybody, read aloud when it changes.
    say(sentence) {
      if (this.said.textContent !== sentence) this.said.textContent = sentence;
    }
  }

  // --- start ----------------------------------------------------------------------------------

  let written = location.search; // by us, or where the reader came in

  function comeBack() {
    if (location.search === written) return; // only another place on the page
    written = location.search;
    Object.values(tfm.running).forEach((explorer) => explorer.comeBack());
  }

  function start() {
    tfm.running = {};
    document.querySelectorAll(".tfm-explorer[data-explorer]").forEach((box) => {
      const name = box.dataset.explorer;
      const data = JSON.parse(document.getElementById(`explorer-data-${name}`).textContent);
      tfm.running[box.id] = new Explorer(box, tfm.explorers[name], data);
      box.hidden = false;
      box.previousElementSibling.classList.add("tfm-explored"); // the picture whose place it takes
      if (location.hash === `#${box.id}`) box.scrollIntoView();
    });
    window.addEventListener("popstate", comeBack);
  }

  tfm.make = make;
  tfm.makeSvg = makeSvg;
  tfm.scroller = scroller;
  tfm.reveal = reveal;
  tfm.format = format;
  tfm.number = number;
  tfm.quoted = quoted;
  tfm.uniforms = uniforms;
  tfm.offBy = offBy;
  tfm.agrees = agrees;
  tfm.inLedger = inLedger;
  // Scripts of a page are deferred: those of the kinds have registered when the document is ready.
  document.addEventListener("DOMContentLoaded", start);
})();
