// A learner's answers: saved as one file, taken home as a notebook, brought back from either.
import { MOST_BYTES, exportFile, exportNotebook, importText } from "./answers.js";
import { button, download, element } from "./dom.js";
import { load, unpack } from "./python.js";

const NOT_KEPT = "This browser keeps nothing between visits: save your answers before you leave.";

export function addPanel(place, chapter) {
  const status = element("span", { class: "tfm-live-status", role: "status" });
  const say = (text) => { status.textContent = text; };
  const chooser = element("input", {
    type: "file", accept: ".json,.ipynb,.jsonl", hidden: true, "aria-label": "A file with answers",
    onchange: () => open(chooser, chapter, say, undo),
  });
  const undo = button("Undo", () => takeBack(chapter, say, undo), { hidden: true });
  place.append(element("div", { class: "tfm-live-bar tfm-live-panel", role: "group", "aria-label": "Your answers" },
    button("Save my answers", () => save(chapter, say)),
    button("Open saved answers", () => chooser.click()),
    button("Download as a notebook", () => takeHome(chapter, say)),
    undo, chooser, status));
  chapter.onTrouble = () => say(NOT_KEPT);
  if (chapter.isInTrouble) chapter.onTrouble();
  sayProgress(chapter, say);
}

function sayProgress(chapter, say) {
  const ids = chapter.exercises.map((exercise) => exercise.id);
  const solved = ids.filter((id) => chapter.store.status(id) === "passed").length;
  if (solved) say(`${solved} of ${ids.length} exercises of this chapter solved.`);
}

function save(chapter, say) {
  download("my-answers.json", "application/json", exportFile(chapter.store));
  say(whatIsSaved(chapter.store.ids()));
}

// Only what this page can see: from disk, Firefox keeps the answers of each page apart.
function whatIsSaved(ids) {
  const chapters = [...new Set(ids.map((id) => id.split(".")[0]))];
  const which = `${chapters.length === 1 ? "chapter" : "chapters"} ${chapters.join(", ")}`;
  const saved = chapters.length ? `Your answers to ${which} are in my-answers.json.` : "There is no answer to save yet.";
  if (location.protocol !== "file:" || chapters.length > 1) return saved;
  return saved + " From disk, a browser may keep each chapter's answers apart: save them in each chapter.";
}

async function takeHome(chapter, say) {
  try {
    const files = await unpack(await load("notebook-" + chapter.name));
    const notebook = JSON.parse(new TextDecoder().decode(files["notebook.json"]));
    download(chapter.name + ".ipynb", "application/x-ipynb+json", exportNotebook(chapter.store, notebook));
    say("This chapter with your answers is in " + chapter.name + ".ipynb.");
  } catch (error) {
    say(error.message);
  }
}

async function open(chooser, chapter, say, undo) {
  const file = chooser.files[0];
  chooser.value = ""; // the same file may be chosen again
  if (!file) return;
  if (file.size > MOST_BYTES) {
    say(`${file.name} is too large to be a file of answers: choose my-answers.json or a notebook.`);
    return;
  }
  const before = chapter.store.snapshot();
  try {
    const blanks = Object.fromEntries(chapter.exercises.map((exercise) => [exercise.id, exercise.source]));
    const { answers, replaced, attempts, ignored } = importText(chapter.store, file.name, await file.text(), blanks);
    chapter.exercises.forEach((exercise) => exercise.refresh());
    chapter.before = before;
    undo.hidden = false;
    const found = `${answers} answers and ${attempts} attempts taken from ${file.name}`;
    say([found + (replaced ? `, ${replaced} of yours replaced.` : "."), ...ignored].join(" "));
  } catch (error) {
    say(error.message);
  }
}

function takeBack(chapter, say, undo) {
  chapter.store.restore(chapter.before);
  chapter.exercises.forEach((exercise) => exercise.refresh());
  undo.hidden = true;
  say("Your answers are as they were before.");
}
