// The engine's messages as the page shows them: the same sentences as in Jupyter.
import { element } from "./dom.js";

const MARKS = new Map([[true, ["✓", "met"]], [false, ["✗", "not met"]], [null, ["·", "not reached"]]]);

export function feedback(message) {
  const box = element("div", {
    class: "tfm-feedback tfm-" + message.tone, role: "group", "aria-label": message.title,
  }, element("strong", {}, message.title));
  if (message.items.length) box.append(element("ul", {}, ...message.items.map(item)));
  return box;
}

function item({ text, label, mark, is_marked, is_folded }) {
  if (is_marked) {
    const [sign, name] = MARKS.get(mark);
    return element("li", {}, element("span", { role: "img", "aria-label": name }, sign), " " + text);
  }
  if (is_folded) {
    const fold = element("details", { class: "tfm-fold" }, element("summary", {}, label + ":"), element("code", {}, text));
    return element("li", {}, fold);
  }
  return label ? element("li", {}, element("strong", {}, label + ":"), " " + text) : element("li", {}, text);
}
