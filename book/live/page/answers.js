// A learner's answers and attempts: kept in the browser, carried in files. Nothing here touches the
// page. `tfmlib/checking/answers.py` reads and writes the same files, and says the same sentences.

const PREFIX = "tfm-live:";
const ANSWER = `${PREFIX}answer:`;
const PROGRESS = `${PREFIX}progress`;

const FORMAT = "tfm-answers";
const VERSION = 1;
export const MOST_BYTES = 20 * 2 ** 20; // of a file: look at its size before you read it
const MOST_OF_AN_ANSWER = 200_000; // characters: one answer must not fill the whole storage
const MOST_NAMED = 8; // in one sentence

const ID = /^(0|[1-9][0-9]{0,2})\.[1-9][0-9]{0,2}$/;
const CELL_ID = /^answer-([0-9]+)-([0-9]+)$/;
const TITLE = /^# Exercise ([0-9]+\.[0-9]+)\b/;
// What the book prints where an answer is to be written, in this edition or in another.
const BLANK = new RegExp(
  "^(# Exercise [0-9.]+:[^\\n]*\\n)?" +
    "def \\w+\\([^\\n]*\\):\\n" +
    '    """[^"]*"""\\n' +
    "    # Your code here(, without a call of [\\w. ]+)?\\.\\n" +
    "    raise NotImplementedError$",
);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isId = (id) => typeof id === "string" && ID.test(id);
const unixLines = (source) => source.replaceAll("\r\n", "\n");
const isSame = (one, other) => unixLines(one).trimEnd() === unixLines(other).trimEnd();

function isBlank(source) {
  const text = unixLines(source).trim();
  return text === "" || BLANK.test(text);
}

// --- in the order of the book and of time ----------------------------------------------------------

const compare = (a, b) => (a < b ? -1 : Number(a > b));

function compareIds(a, b) {
  const [[chapter, number], [otherChapter, otherNumber]] = [a, b].map((id) => id.split(".").map(Number));
  return chapter - otherChapter || number - otherNumber;
}

function compareAttempts(a, b) {
  return (
    a.time - b.time ||
    compareIds(a.exercise, b.exercise) ||
    compare(a.event, b.event) ||
    compare(a.mistake ?? "", b.mistake ?? "")
  );
}

// All attempts, each once. Their text tells whether two are the same: `attempt` fixes its form.
function unite(...logs) {
  const byText = new Map(logs.flat().map((one) => [JSON.stringify(one), one]));
  return [...byText.values()].sort(compareAttempts);
}

// --- the store -------------------------------------------------------------------------------------

// `storage` is like localStorage, or null; mind that already naming `window.localStorage` throws where
// a browser forbids it. `onTrouble("full" | "forbidden")` is called once, when something could for the
// first time be kept only in memory, that is until the page is closed.
export function createStore(storage, onTrouble = () => {}) {
  const memory = new Map(); // key -> what could not be stored: a text, or null for what is forgotten
  let isTold = false;

  function tell(error) {
    if (isTold) return;
    isTold = true;
    onTrouble(/quota/i.test(error.name) ? "full" : "forbidden"); // Firefox has a name of its own
  }

  function read(key) {
    if (memory.has(key)) return memory.get(key);
    try {
      return storage.getItem(key);
    } catch {
      return null;
    }
  }

  // Every change tries the storage again: by now there may be room.
  function change(key, text) {
    try {
      if (text === null) storage.removeItem(key);
      else storage.setItem(key, text);
      memory.delete(key);
    } catch (error) {
      memory.set(key, text);
      tell(error);
    }
  }

  function storedKeys() {
    try {
      return Array.from({ length: storage.length }, (_, i) => storage.key(i));
    } catch {
      return [];
    }
  }

  const keyOf = (id) => {
    if (!isId(id)) throw new Error(`Expected the number of an exercise such as 4.3, got ${id}.`);
    return ANSWER + id;
  };
  const answer = (id) => read(keyOf(id)); // null where there is none
  const keep = (id, text) => change(keyOf(id), String(text));
  const forget = (id) => change(keyOf(id), null);

  function ids() {
    const keys = new Set([...storedKeys(), ...memory.keys()]);
    const named = [...keys].filter((key) => key.startsWith(ANSWER)).map((key) => key.slice(ANSWER.length));
    return named.filter((id) => isId(id) && answer(id) !== null).sort(compareIds);
  }

  // Read anew each time, since another tab may have written; parsed only if it has.
  let parsed = { text: null, attempts: [] };
  function attempts() {
    const text = read(PROGRESS);
    if (text !== parsed.text) parsed = { text, attempts: inLog(text ?? "").progress };
    return parsed.attempts;
  }

  const progressText = () => attempts().map((one) => `${JSON.stringify(one)}\n`).join("");

  // Add attempts to those that are stored by now, and return how many are new.
  function recordAll(lines) {
    const before = attempts();
    const all = unite(before, lines);
    if (all.length > before.length) {
      change(PROGRESS, all.map((one) => `${JSON.stringify(one)}\n`).join(""));
    }
    return all.length - before.length;
  }

  // One attempt, as an object or as a line of a log; false where it is none or not new.
  function record(line) {
    const one = attempt(typeof line === "string" ? parse(line) : line);
    return one !== null && recordAll([one]) === 1;
  }

  // An exercise once solved stays solved, as in Jupyter.
  function status(id) {
    const events = new Set(attempts().filter((one) => one.exercise === id).map((one) => one.event));
    return ["passed", "failed"].find((event) => events.has(event)) ?? "";
  }

  const snapshot = () => ({ answers: ids().map((id) => [id, answer(id)]), progress: progressText() });

  function restore({ answers, progress }) {
    const before = new Map(answers);
    for (const id of ids()) if (!before.has(id)) forget(id);
    for (const [id, text] of before) if (answer(id) !== text) keep(id, text);
    if (progressText() !== progress) change(PROGRESS, progress || null);
  }

  return { answer, keep, forget, ids, progressText, attempts, record, recordAll, status, snapshot, restore };
}

// --- files to take along ---------------------------------------------------------------------------

const asText = (value) => `${JSON.stringify(value, null, 1)}\n`;
const answersOf = (store, ids) => Object.fromEntries(ids.map((id) => [id, store.answer(id)]));

export function exportFile(store) {
  const answers = answersOf(store, store.ids());
  return asText({ format: FORMAT, version: VERSION, answers, progress: store.attempts() });
}

// A chapter's blank notebook with the answers in their cells. The attempts at its exercises travel in
// its metadata, and so does an answer that has no cell in it, such as one of another edition.
export function exportNotebook(store, notebook) {
  const filled = structuredClone(notebook);
  const cells = codeCells(filled);
  for (const cell of cells) Object.assign(cell, { execution_count: null, outputs: [] });
  const own = [...places(cells)];
  for (const [id, indices] of own) {
    const answer = store.answer(id);
    if (answer !== null) cells[indices.at(-1)].source = answer.split(/(?<=\n)/); // lines, as Jupyter has them
  }
  const chapters = new Set(own.map(([id]) => chapterOf(id)));
  const isOurs = (id) => chapters.has(chapterOf(id));
  const homeless = store.ids().filter((id) => isOurs(id) && !own.some(([known]) => known === id));
  const progress = store.attempts().filter((one) => isOurs(one.exercise));
  filled.metadata = { ...filled.metadata, tfm: { answers: answersOf(store, homeless), progress } };
  return asText(filled);
}

const chapterOf = (id) => id.split(".")[0];

// --- files brought along ---------------------------------------------------------------------------

// Take what a file holds. `blanks` are the book's own blank cells, by exercise. The numbers are of what
// is new: `answers` that changed something, those of them that `replaced` another, and `attempts`.
export function importText(store, name, text, blanks = {}) {
  const found = readFile(shown(name, 80), text);
  const isNothing = (id, source) =>
    isBlank(source) || (Object.hasOwn(blanks, id) && isSame(source, blanks[id]));
  const result = { answers: 0, replaced: 0, attempts: 0, ignored: found.ignored };
  const [blank, long] = [found.blank, []];
  for (const [id, source] of found.answers) {
    const before = store.answer(id);
    if (isNothing(id, source)) blank.push(id);
    else if (source.length > MOST_OF_AN_ANSWER) long.push(id);
    else if (before === null || !isSame(before, source)) {
      store.keep(id, source);
      result.answers += 1;
      result.replaced += Number(before !== null && !isNothing(id, before));
    }
  }
  result.ignored.push(...named("Too long", long));
  result.ignored.push(...named("Still blank", blank.sort(compareIds)));
  result.attempts = store.recordAll(found.progress);
  return result;
}

function readFile(name, text) {
  if (typeof text !== "string") throw unexpected(name, "is not text");
  if (text.length > MOST_BYTES) throw unexpected(name, `is larger than ${MOST_BYTES / 2 ** 20} MB`);
  const content = text.replace(/^\ufeff/, "");
  const whole = parse(content);
  if (isObject(whole) && whole.format === FORMAT) return inFile(name, whole);
  if (isObject(whole) && (Array.isArray(whole.cells) || Array.isArray(whole.worksheets))) {
    return inNotebook(whole);
  }
  const log = inLog(content);
  if (log.progress.length) return log;
  if (content.trim() === "") throw unexpected(name, "is empty");
  throw unexpected(name, whole === null ? "is not JSON, or not all of it" : "is JSON of another kind");
}

const unexpected = (name, what) =>
  new Error(
    "Expected a file of answers (.json), a notebook (.ipynb) or a log of attempts (.jsonl), " +
      `but ${name} ${what}: choose a file that the book or Jupyter saved.`,
  );

function inFile(name, whole) {
  if (whole.version === VERSION) return inObject(whole);
  const version = shown(JSON.stringify(whole.version ?? null), 40);
  throw new Error(
    `Expected version ${VERSION} of a file of answers, but ${name} has version ${version}: ` +
      "take the newest edition of the book.",
  );
}

// Answers and progress from JSON that may hold anything.
function inObject({ answers = {}, progress = [] }) {
  const ignored = [];
  if (!isObject(answers)) ignored.push("Its answers are not an object with an exercise for each.");
  if (!Array.isArray(progress)) ignored.push("Its progress is not a list of attempts.");
  const entries = isObject(answers) ? Object.entries(answers) : [];
  const numbered = entries.filter(([id]) => isId(id));
  const texts = numbered.filter(([, source]) => typeof source === "string");
  const others = entries.filter(([id]) => !isId(id)).map(([id]) => JSON.stringify(shown(id, 40))).sort();
  const wrong = numbered.filter(([, source]) => typeof source !== "string").map(([id]) => id);
  ignored.push(...named("Not the number of an exercise", others), ...named("Not text", wrong));
  const blank = texts.filter(([, source]) => isBlank(source)).map(([id]) => id);
  const written = new Map(texts.filter(([, source]) => !isBlank(source)));
  return withAttempts({ answers: written, blank, ignored }, Array.isArray(progress) ? progress : []);
}

// A notebook of any format: its cells, and what the page put into its metadata.
function inNotebook(notebook) {
  const extra = isObject(notebook.metadata) ? notebook.metadata.tfm : null;
  const found = inObject(isObject(extra) ? extra : {});
  const cells = codeCells(notebook);
  const several = [];
  for (const [id, indices] of places(cells)) {
    const sources = indices.map((index) => sourceOf(cells[index]));
    const source = sources.at(-1);
    if (!isBlank(source)) found.answers.set(id, source);
    else if (!found.answers.has(id)) found.blank.push(id);
    const isOther = (one) => !isBlank(one) && !isSame(one, source);
    if (sources.some(isOther)) several.push(id);
  }
  found.ignored.push(...named("Answered more than once, so the last answer was taken", several));
  return found;
}

function inLog(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return withAttempts({ answers: new Map(), blank: [], ignored: [] }, lines.map(parse));
}

function withAttempts(found, entries) {
  const attempts = entries.map(attempt);
  const damaged = attempts.flatMap((one, i) => (one === null ? [String(i + 1)] : []));
  found.ignored.push(...named("Attempts that could not be read, by their position", damaged));
  return { ...found, progress: unite(attempts.filter((one) => one !== null)) };
}

// One line of a log in its one form, or null where it is none.
function attempt(entry) {
  if (!isObject(entry)) return null;
  const { exercise, event, time, mistake = "" } = entry;
  if (!isId(exercise)) return null;
  if (typeof event !== "string" || event.length < 1 || event.length > 40) return null;
  if (typeof time !== "number" || !(time >= 0 && time < 2 ** 53)) return null;
  if (typeof mistake !== "string" || mistake.length > 200) return null;
  const line = { exercise, event, time: Math.floor(time) };
  return mistake === "" ? line : { ...line, mistake };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const shown = (text, most) => [...String(text).slice(0, 2 * most)].slice(0, most).join("");

// One sentence that names them, or none; a long list is cut short.
function named(what, things) {
  if (!things.length) return [];
  const rest = things.length - MOST_NAMED;
  const more = rest > 0 ? ` and ${rest} more` : "";
  return [`${what}: ${things.slice(0, MOST_NAMED).join(", ")}${more}.`];
}

// --- cells of a notebook ---------------------------------------------------------------------------

function codeCells(notebook) {
  const sheets = Array.isArray(notebook.worksheets) ? notebook.worksheets : []; // formats 1 to 3
  const lists = [notebook, ...sheets].filter(isObject).map((holder) => holder.cells);
  const cells = lists.filter(Array.isArray).flat();
  return cells.filter((cell) => isObject(cell) && cell.cell_type === "code");
}

function sourceOf(cell) {
  const source = cell.source ?? cell.input ?? ""; // "input" up to format 3
  if (Array.isArray(source)) return source.filter((part) => typeof part === "string").join("");
  return typeof source === "string" ? source : "";
}

// The exercise that a cell answers, or "": by its metadata, its id or its first line.
function exerciseOf(cell) {
  const told = isObject(cell.metadata) ? cell.metadata.exercise : null;
  if (isId(told)) return told;
  const byId = typeof cell.id === "string" ? CELL_ID.exec(cell.id) : null;
  const id = byId ? `${byId[1]}.${byId[2]}` : (TITLE.exec(sourceOf(cell))?.[1] ?? "");
  return isId(id) ? id : "";
}

// Exercise -> the indices of its cells, that of the answer last: of several, the last one that is not
// blank is the answer, as it is for the kernel.
function places(cells) {
  const found = new Map();
  cells.forEach((cell, index) => {
    const id = exerciseOf(cell);
    if (!id) return;
    if (found.has(id)) found.get(id).push(index);
    else found.set(id, [index]);
  });
  for (const [id, indices] of found) {
    const written = indices.filter((index) => !isBlank(sourceOf(cells[index])));
    const answer = written.at(-1) ?? indices[0];
    found.set(id, [...indices.filter((index) => index !== answer), answer]);
  }
  return found;
}
