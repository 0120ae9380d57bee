// Runs a Python file in the page's Python, under node: node in_node.mjs NODE_MODULES ZIP... FILE.py
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, ...rest] = process.argv.slice(2);
const file = rest.pop();
const { loadPyodide } = createRequire(join(modules, "x.js"))("pyodide");
const python = await loadPyodide({ indexURL: join(modules, "pyodide") + "/" });
python._module.mergeLibSymbols({ backtrace: () => 0 }, "numpy-needs");
const place = python.runPython("import sysconfig; sysconfig.get_paths()['purelib']");
for (const zip of rest) python.unpackArchive(readFileSync(zip).buffer, "zip", { extractDir: place });
let deadline = Infinity;
python.setInterruptBuffer({
  get 0() {
    if (performance.now() < deadline) return 0;
    deadline = performance.now() + 1000;
    return 2;
  },
  set 0(value) {},
});
const send = (kind, text) => process.stderr.write(kind + " " + text + "\n");
const now = () => performance.now() / 1000;
const setDeadline = (seconds) => { deadline = seconds ? seconds * 1000 : Infinity; };
const entry = python.pyimport("tfm_page.entry");
entry.start(send, now, setDeadline, "");
python.globals.set("emit", (text) => process.stdout.write(text + "\n"));
python.runPython(readFileSync(file, "utf8"));
