// CodeMirror for Python, loaded with the first click. It hands itself over like every other file.
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--tfm-code-keyword)" },
  { tag: [tags.string, tags.docString], color: "var(--tfm-code-string)" },
  { tag: tags.comment, color: "var(--tfm-code-comment)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--tfm-code-number)" },
]);

function createEditor({ parent, text, label, describedBy, go, change }) {
  const view = new EditorView({
    doc: text,
    parent,
    extensions: [
      history(), drawSelection(), lineNumbers(), indentOnInput(), bracketMatching(), closeBrackets(),
      indentUnit.of("    "), python(), syntaxHighlighting(COLOURS), EditorView.lineWrapping,
      // Tab indents; after Escape the next Tab leaves, as CodeMirror's own keymap has it.
      keymap.of([
        { key: "Shift-Enter", run: go }, { key: "Mod-Enter", run: go },
        ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab,
      ]),
      EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": describedBy }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) change(update.state.doc.toString());
      }),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    set(text) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }); },
    focus() { view.focus(); },
  };
}

tfmLive.receive("editor", createEditor);
