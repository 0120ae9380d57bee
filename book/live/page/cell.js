// A cell of the page that a reader can edit and run.
import { button, element } from "./dom.js";
import { feedback } from "./feedback.js";
import { load } from "./python.js";

const MOST_SHOWN = 60000; // characters of output in a page
const ENDED = {
  stopped: "Stopped. Python starts anew when you next run something; your code is still here.",
  endless: "It did not stop by itself, so Python was ended. A new one starts when you next run something.",
  broken: "Python broke down and was ended. A new one starts when you next run something; your code is still here.",
};

export class Cell {
  constructor(chapter, index, node) {
    Object.assign(this, { chapter, index, node });
    this.input = node.querySelector(".cell_input");
    this.stored = node.querySelector(".cell_output");
    this.source = this.input.querySelector("pre").textContent.replace(/\n$/, "");
    this.editor = null;
  }

  get name() { return "cell " + (this.index + 1); }
  get text() { return this.editor ? this.editor.text() : this.source; }

  // --- what a reader sees before the first click ---

  offer(text, name) {
    this.offered = true;
    this.status = element("span", { class: "tfm-live-status", role: "status" });
    this.opener = button(text, () => this.open(), { "aria-label": name });
    this.bar = element("div", { class: "tfm-live-bar" }, this.opener, this.status);
    this.input.after(this.bar);
  }

  offerRun() { this.offer("Run", "Run " + this.name); }

  say(text) { this.status.textContent = text; }

  // --- from then on ---

  async open() {
    this.opener.disabled = true;
    await this.edit();
    this.out = element("div", { class: "tfm-live-out", role: "region", tabindex: "-1", "aria-label": "Result of " + this.name });
    this.stopper = button("Stop", () => this.chapter.python.end("stopped"), { disabled: true });
    this.buttons = this.makeButtons();
    this.opener.remove();
    this.bar.prepend(...this.buttons, this.stopper);
    this.bar.after(this.out);
    this.opened();
  }

  makeButtons() {
    return [
      button("Run", () => this.run(), { class: "tfm-first" }),
      button("Start over", () => this.startOver()),
    ];
  }

  opened() { this.run(); }

  startText() { return this.source; }
  go() { this.run(); }
  changed() {}

  async edit() {
    const keys = element("p", { class: "tfm-live-keys", id: "tfm-keys-" + this.index },
      `Shift+Enter ${this.verb || "runs"}. Tab indents; Esc, then Tab, leaves the editor.`);
    const box = element("div", { class: "tfm-live-editor" });
    const options = {
      parent: box, text: this.startText(), label: this.label || "Code of " + this.name, describedBy: keys.id,
      go: () => { this.go(); return true; }, change: (text) => this.changed(text),
    };
    let createEditor = plainEditor;
    try {
      createEditor = await load("editor");
    } catch { /* a text field does as well */ }
    this.input.replaceChildren(box);
    this.input.after(keys);
    this.editor = createEditor(options);
  }

  startOver() {
    this.editor.set(this.source);
    this.out.replaceChildren();
    if (this.stored) this.stored.hidden = false;
    this.say("The book's code is back.");
  }

  // --- running ---

  run() { return this.work({ do: "run" }); }

  async work(request) {
    const { python, cells, setup } = this.chapter;
    this.busy(true);
    this.out.replaceChildren();
    const sources = cells.map((cell) => this.sees(cell));
    let end;
    try {
      end = await python.ask(
        { ...request, sources, setup, target: this.index },
        (kind, content) => this.hear(kind, content), (text) => this.say(text));
    } catch (error) {
      this.say("Python could not be started: " + error.message);
      this.busy(false);
      return;
    }
    await this.drawn;
    this.busy(false);
    this.ended(end);
  }

  // The text of a cell as this one may build on it: the book's own cells use no learner's answer.
  sees(cell) { return cell.id ? "" : cell.text; }

  busy(isBusy) {
    for (const one of this.buttons) one.disabled = isBusy;
    this.stopper.disabled = !isBusy;
    this.node.setAttribute("aria-busy", String(isBusy));
    if (isBusy) this.say("Running …");
  }

  ended({ how, ifLost }) {
    if (how in ENDED) {
      if (ifLost && how !== "stopped") this.lost(how, ifLost);
      this.say(ENDED[how]);
    } else {
      this.say(this.outcome || (how === "done" ? "Done." : "It ended with an error."));
    }
    this.outcome = "";
  }

  lost() {}

  hear(kind, content) {
    if (kind === "step") this.step(content);
    else if (kind === "message") this.show(feedback(content), content.title);
    else if (kind === "figure") this.figure(content);
    else if (kind === "solution") this.solution(content);
    else this.print(kind, content);
  }

  // The stored output stays until this cell itself runs; a picture stays beside what is drawn here.
  step(number) {
    if (number !== this.index) {
      this.say(`Running cell ${number + 1} first, which this one needs …`);
      return;
    }
    this.say("Running …");
    const fold = this.node.querySelector("details.tfm-predict");
    if (fold) fold.open = true;
    if (this.stored && !this.stored.querySelector("img, svg")) this.stored.hidden = true;
  }

  show(part, said = "") {
    this.out.append(part);
    if (said) this.outcome = said;
  }

  figure(spec) {
    const place = element("figure", { class: "tfm-live-figure" });
    const note = element("p", { class: "tfm-live-note" }, "The picture above is the book's own: a page does not draw it anew.");
    this.show(place);
    const drawing = load("figure").then((draw) => draw(spec), () => null);
    this.drawn = drawing.then((picture) => (picture ? place.append(picture) : place.replaceWith(note)));
  }

  print(kind, text) {
    let last = this.out.lastElementChild;
    if (last?.dataset.kind !== kind) {
      last = element("pre", { "data-kind": kind, class: "tfm-" + kind, tabindex: "0" });
      this.out.append(last);
    }
    const room = MOST_SHOWN - last.textContent.length;
    if (room > 0) last.append(text.slice(0, room));
    if (room > 0 && text.length > room) last.append("\n… the rest is not shown.");
  }
}

// Where CodeMirror cannot be loaded.
function plainEditor({ parent, text, label, describedBy, go, change }) {
  const area = element("textarea", {
    rows: text.split("\n").length + 2, spellcheck: "false", "aria-label": label, "aria-describedby": describedBy,
    oninput: () => change(area.value),
    onkeydown: (event) => {
      if (event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        go();
      }
    },
  });
  area.value = text;
  parent.append(area);
  return { text: () => area.value, set(value) { area.value = value; change(value); }, focus() { area.focus(); } };
}
