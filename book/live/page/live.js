// Python in the page. Nothing is loaded before a reader asks for it; without it every page reads as before.
import { createStore } from "./answers.js";
import { Cell } from "./cell.js";
import { element } from "./dom.js";
import { Exercise } from "./exercise.js";
import { addPanel } from "./panel.js";
import { Python } from "./python.js";

function storage() {
  try {
    return window.localStorage;
  } catch {
    return null; // forbidden by the reader's settings
  }
}

class Chapter {
  constructor(about) {
    this.name = about.name;
    this.store = createStore(storage(), () => { this.isInTrouble = true; this.onTrouble?.(); });
    this.python = new Python(() => this.store.progressText(), (line) => this.record(line));
    this.nodes = [...document.querySelectorAll("div.cell")].filter((node) => node.querySelector(".cell_input pre"));
    this.cells = this.nodes.map((node, index) => {
      const cell = about.cells[index];
      return cell.kind === "exercise" ? new Exercise(this, index, node, cell) : new Cell(this, index, node);
    });
    this.setup = about.cells.flatMap((cell, index) => (cell.kind === "setup" ? [index] : []));
    this.exercises = this.cells.filter((cell) => cell instanceof Exercise);
    about.cells.forEach((cell, index) => this.offer(cell, this.cells[index]));
  }

  offer({ kind }, cell) {
    if (kind === "exercise") cell.offer();
    else if (kind === "run") cell.offerRun();
    else if (kind === "jupyter") cell.input.after(element("p", { class: "tfm-live-note" }, "This cell needs torch: run it in Jupyter."));
  }

  record(line) { this.store.record(line); }
}

function begin() {
  const data = document.getElementById("tfm-live-cells");
  if (!data || !window.Worker || !window.DecompressionStream || !window.WebAssembly) return;
  const chapter = new Chapter(JSON.parse(data.textContent));
  window.tfmLive.chapter = chapter;
  const place = document.querySelector(".tfm-work");
  if (place) addPanel(place, chapter);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();
