// One line of a log as HTML elements: colours by class, all else escaped.
import { AnsiUp } from "../vendor/ansi_up.js";

// Control codes have no place in a view; tab and escape are read by others.
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g;

// Return {text, updates}: the last state of a line that was written over.
export function lastState(raw) {
  const states = raw.split("\r").filter((part) => part.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "") !== "");
  return { text: states.at(-1) ?? "", updates: states.length };
}

export function fillLine(element, raw, { cutBytes, needle }) {
  const { text, updates } = lastState(raw);
  const painter = new AnsiUp();
  painter.use_classes = true;
  painter.url_allowlist = {};
  element.innerHTML = painter.ansi_to_html(text.replace(CONTROLS, "")); // escapes
  if (needle) markAll(element, needle);
  if (updates > 1) element.append(note(`  ↻ ${updates.toLocaleString("en")} updates`));
  if (cutBytes) element.append(note(`  … cut; the whole line has ${cutBytes.toLocaleString("en")} bytes, see the download`));
}

function note(text) {
  const element = document.createElement("em");
  element.textContent = text;
  return element;
}

// Put <mark> round each place that holds the text, whatever its letters' case.
function markAll(element, needle) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  const wanted = needle.toLowerCase();
  for (let node of nodes) {
    let at = node.data.toLowerCase().indexOf(wanted);
    while (at >= 0) {
      const hit = node.splitText(at);
      node = hit.splitText(needle.length);
      const mark = document.createElement("mark");
      hit.replaceWith(mark);
      mark.append(hit);
      at = node.data.toLowerCase().indexOf(wanted);
    }
  }
}
