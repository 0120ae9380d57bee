// Python for one page: a worker, started when first needed, and started anew after it was ended.
const here = document.currentScript.src.replace(/[^/]*$/, "");
// From disk a query would be part of the file's name in some browsers, and nothing is cached there.
const version = location.protocol === "file:" ? "" : "?v=" + VERSION;
const PATIENCE = 3; // seconds beyond a limit, until a worker that does not listen is ended
const waiting = {}; // name -> what to do with the content of a script
const loaded = {};

window.tfmLive = {
  receive(name, content) { waiting[name](content); },
};

// Loads a script that hands over its content: also a page from disk may do so.
export function load(name) {
  loaded[name] ??= new Promise((resolve, reject) => {
    waiting[name] = resolve;
    const script = document.createElement("script");
    script.src = here + name + ".js" + version;
    script.onerror = () => {
      delete loaded[name];
      script.remove();
      reject(new Error("A file of the book could not be loaded: " + name + ".js"));
    };
    document.head.append(script);
  });
  return loaded[name];
}

export async function unpack(packed) {
  const files = {};
  await Promise.all(Object.entries(packed).map(async ([name, text]) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    files[name] = await new Response(stream).arrayBuffer();
  }));
  return files;
}

export class Python {
  // `progress()` gives what was recorded so far; `onProgress(line)` keeps one more line.
  constructor(progress, onProgress) {
    this.progress = progress;
    this.onProgress = onProgress;
    this.worker = this.starting = this.job = null;
    this.last = 0;
    this.queue = Promise.resolve();
  }

  // Resolves when Python is ready; `say` tells a waiting reader what is going on.
  ready(say) {
    this.starting ??= this.#start(say).catch((error) => {
      this.#drop();
      throw error;
    });
    return this.starting;
  }

  async #start(say) {
    say("Loading Python and NumPy: 12 MB, once per visit …");
    const parts = await Promise.all(["python", "numpy", "library"].map(load));
    say("Starting Python …");
    const files = Object.assign({}, ...await Promise.all(parts.map(unpack)));
    const code = ["pyodide.asm.js", "pyodide.js", "worker.js"].flatMap((name) => [files[name], "\n"]);
    for (const name of ["pyodide.asm.js", "pyodide.js", "worker.js"]) delete files[name];
    const address = URL.createObjectURL(new Blob(code, { type: "text/javascript" }));
    const worker = this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    await new Promise((resolve, reject) => {
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message || "the worker did not start"));
        this.end("broken");
      };
      worker.onmessage = ({ data }) => {
        if (data.kind === "ready") resolve();
        else if (data.kind === "broken" && !data.id) reject(new Error(data.text));
        else this.#hear(data);
      };
      worker.postMessage({ files, progress: this.progress() }, Object.values(files));
    });
  }

  #hear(message) {
    if (message.kind === "progress") this.onProgress(JSON.parse(message.text));
    else if (!this.job) return;
    else if (message.kind === "deadline") this.#watch(message.left);
    else if (message.kind === "if-lost") this.job.ifLost = JSON.parse(message.text);
    else if (message.kind === "done") this.#finish({ how: message.isDone ? "done" : "failed" });
    else if (message.kind === "broken") this.end("broken");
    else this.job.hear(message.kind, JSON.parse(message.text));
  }

  // Ends the worker should it still be silent well after its own limit.
  #watch(left) {
    clearTimeout(this.job.timer);
    if (left) this.job.timer = setTimeout(() => this.end("endless"), left + 1000 * PATIENCE);
  }

  // Asks for one thing after the other; resolves with { how, ifLost }, where `how` is "done",
  // "failed", or why Python had to be ended: "stopped", "endless", "broken".
  ask(request, hear, say) {
    const turn = this.queue.then(async () => {
      await this.ready(say);
      return new Promise((resolve) => {
        this.job = { hear, resolve, ifLost: null, timer: 0 };
        this.worker.postMessage({ id: ++this.last, request: JSON.stringify(request) });
      });
    });
    this.queue = turn.catch(() => {});
    return turn;
  }

  // Ends Python, whatever it does; the next request starts another.
  end(how) {
    this.#drop();
    if (this.job) this.#finish({ how, ifLost: this.job.ifLost });
  }

  #drop() {
    this.worker?.terminate();
    this.worker = this.starting = null;
  }

  #finish(end) {
    const job = this.job;
    clearTimeout(job.timer);
    this.job = null;
    job.resolve(end);
  }
}
