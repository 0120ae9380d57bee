// Runs Python away from the page. All files come with the first message; nothing else can be loaded.
const BASE = "https://book.invalid/"; // an address that no request ever reaches: see `fetch` below
const MOST_MEMORY = 1 << 30; // bytes: more would end the whole page on many a telephone
const EVERY = 1000; // ms between interrupts of code that catches them
let files = {};
let entry = null;
let deadline = Infinity; // by performance.now()

// Pyodide asks for its files by address: they are in memory, and there is no other place to ask.
self.fetch = async (address) => {
  const name = String(address.url || address).slice(BASE.length).split(/[?#]/)[0];
  if (!(name in files)) throw new TypeError("not part of the book: " + address);
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(files[name], { headers: { "Content-Type": type } });
};

// Python gets a MemoryError where growing further would take the page down with it.
const grow = WebAssembly.Memory.prototype.grow;
WebAssembly.Memory.prototype.grow = function (pages) {
  if (this.buffer.byteLength + pages * 65536 > MOST_MEMORY) throw new RangeError("no more memory");
  return grow.call(this, pages);
};

function send(kind, text) {
  self.postMessage({ kind, text });
}

function setDeadline(seconds) {
  deadline = seconds ? seconds * 1000 : Infinity;
  // Where no interrupt helps, in a loop inside C, the page ends this worker.
  self.postMessage({ kind: "deadline", left: seconds ? deadline - performance.now() : 0 });
}

async function start(message) {
  files = message.files;
  const python = await loadPyodide({
    indexURL: BASE, lockFileURL: BASE + "pyodide-lock.json", stdin: () => null,
    env: { HOME: "/home/pyodide", PYTHONHASHSEED: "0" },
  });
  // NumPy asks for the callers' addresses before it reuses memory; none known means: do not reuse.
  python._module.mergeLibSymbols({ backtrace: () => 0 }, "numpy-needs");
  const place = python.runPython("import sysconfig; sysconfig.get_paths()['purelib']");
  for (const name of ["numpy.zip", "library.zip"]) {
    python.unpackArchive(files[name], "zip", { extractDir: place });
  }
  files = {};
  for (const name of ["XMLHttpRequest", "WebSocket", "EventSource", "importScripts", "WebTransport"]) {
    self[name] = undefined; // Pyodide has looked for them; a learner's code has no use for them
  }
  // Python looks here now and then for a signal: 2 is Ctrl-C. No memory needs to be shared for that.
  python.setInterruptBuffer({
    get 0() {
      if (performance.now() < deadline) return 0;
      deadline = performance.now() + EVERY;
      return 2;
    },
    set 0(value) {},
  });
  entry = python.pyimport("tfm_page.entry");
  entry.start(send, () => performance.now() / 1000, setDeadline, message.progress);
  send("ready", String(python._module.HEAPU8.length));
}

self.onmessage = async (event) => {
  const message = event.data;
  try {
    if (message.files) return await start(message);
    const isDone = entry.work(message.request);
    self.postMessage({ kind: "done", id: message.id, isDone });
  } catch (error) {
    self.postMessage({ kind: "broken", id: message.id, text: String(error.message || error).slice(-600) });
  }
};
