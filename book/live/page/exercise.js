// An exercise: an editor with Check, Run, Hint, Stop, Start over, and the solution after an attempt.
import { Cell } from "./cell.js";
import { button, element } from "./dom.js";
import { feedback } from "./feedback.js";

const SIGNS = { passed: "✓ Solved. ", failed: "Tried, not solved yet. ", "": "" };

export class Exercise extends Cell {
  constructor(chapter, index, node, { exercise, answer, solution }) {
    super(chapter, index, node);
    Object.assign(this, { id: exercise, answer, solutionPage: solution, verb: "checks" });
    this.label = "Your answer to exercise " + exercise;
    this.before = null; // the answer that "Start over" took away
  }

  get name() { return "exercise " + this.id; }
  get store() { return this.chapter.store; }

  offer() {
    super.offer(this.store.answer(this.id) === null ? "Try it here" : "Go on here", "Try it here: " + this.name);
    this.sayStatus();
  }

  sayStatus() {
    const kept = this.store.answer(this.id) !== null && !this.editor;
    this.say(SIGNS[this.store.status(this.id)] + (kept ? "Your answer is kept." : ""));
  }

  startText() { return this.store.answer(this.id) ?? this.source; }

  makeButtons() {
    this.over = button("Start over", () => this.startOver());
    this.shown = button("Solution", () => this.work({ do: "solution", exercise: this.id }),
      { "aria-label": "Solution of " + this.name });
    return [
      button("Check", () => this.go(), { class: "tfm-first", "aria-label": "Check " + this.name }),
      button("Run", () => this.run(), { "aria-label": "Run without checking" }),
      button("Hint", () => this.work({ do: "hint", exercise: this.id }), { "aria-label": "Hint for " + this.name }),
      this.over,
      this.shown,
    ];
  }

  opened() {
    // The cell that checks in Jupyter says "not attempted" here: the button has taken its place.
    this.chapter.nodes[this.index + 1].hidden = true;
    this.offerSolution();
    this.editor.focus();
    this.chapter.python.ready((text) => this.say(text)).then(
      () => this.say("Ready."), (error) => this.say("Python could not be started: " + error.message));
  }

  go() { return this.work({ do: "check", exercise: this.id, answer: this.answer }); }

  // An answer may use an earlier one.
  sees(cell) { return cell.id && cell !== this ? this.store.answer(cell.id) ?? "" : cell.text; }

  changed(text) {
    this.store.keep(this.id, text);
    if (this.before !== null && text !== this.source) this.forgetBefore();
  }

  // The answer that is taken away can be brought back until another is begun.
  startOver() {
    if (this.before !== null) {
      const answer = this.before;
      this.forgetBefore();
      this.editor.set(answer);
      this.say("Your answer is back.");
      return;
    }
    const answer = this.editor.text();
    this.editor.set(this.source);
    this.store.forget(this.id);
    this.out.replaceChildren();
    this.before = answer === this.source ? null : answer;
    if (this.before !== null) this.over.textContent = "Bring my answer back";
    this.say("The blank is back.");
  }

  forgetBefore() {
    this.before = null;
    this.over.textContent = "Start over";
  }

  // The store has other answers now, from a file.
  refresh() {
    if (this.editor) this.editor.set(this.startText());
    else this.sayStatus();
    if (this.editor) this.offerSolution();
  }

  offerSolution() {
    const tried = this.store.status(this.id) !== "";
    this.shown.disabled = !tried;
    this.shown.title = tried ? "" : "After your first check";
  }

  busy(isBusy) {
    super.busy(isBusy);
    if (!isBusy) this.offerSolution();
  }

  solution(code) {
    this.show(element("div", { class: "tfm-live-solution" },
      element("strong", {}, "A solution"), element("pre", { tabindex: "0" }, code),
      element("p", {}, element("a", { href: this.solutionPage }, "Why it is so: the discussion"))), "The solution is below.");
  }

  // Python went down with the answer: the engine said beforehand what to tell then.
  lost(how, ifLost) {
    this.show(feedback(how === "endless" ? ifLost.endless : ifLost.died));
    this.chapter.record(ifLost.progress);
  }
}
