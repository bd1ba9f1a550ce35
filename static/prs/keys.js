// Keys of every page. None acts by itself: what changes something opens its dialog.

const ROWS = "[data-row]";

const MEANINGS = [
  ["?", "the keys of this page", () => true],
  ["/", "search field", () => marked("/")],
  ["g j · g n", "jobs · nodes", () => marked("g j")],
  ["1 … 9", "tabs of the job", () => tabs().length],
  ["j · k · Enter", "next, previous row, open it", () => document.querySelector(ROWS)],
  ["l · e", "logs, errors of the job", () => tabs().length],
  ["r", "change and run again", () => marked("r")],
  ["c", "cancel: opens the dialog", () => marked("c")],
  [".", "pause or resume live updates", () => marked(".")],
  ["n · N", "next, previous hit in the log", log],
  ["f", "follow the log", log],
  [":", "go to a line of the log", log],
  ["Home · End", "first, last line of the log", log],
];

let first = ""; // "g", while its second key is awaited

export function startKeys() {
  document.addEventListener("keydown", pressed);
  const button = document.getElementById("keys-button");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", showKeys);
  }
}

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  if (event.key === "Escape") return closePopover();
  if (event.target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
  const sequence = first ? `${first} ${event.key}` : event.key;
  first = !first && event.key === "g" ? "g" : "";
  if (first) return;
  if (act(sequence)) event.preventDefault();
}

function act(key) {
  if (key === "?") return showKeys();
  if (/^[1-9]$/.test(key)) return open(tabs()[Number(key) - 1]);
  if (key === "l") return open(marked("l") ?? document.getElementById("tab-logs"));
  if (key === "e") return open(document.getElementById("tab-errors"));
  if (key === "j") return move(1);
  if (key === "k") return move(-1);
  if (key === "Enter") return openRow();
  const element = marked(key);
  if (!element || !visible(element)) return false;
  if (element.matches("input")) element.focus();
  else element.click();
  if (element.matches("summary")) element.parentElement.querySelector("input")?.focus();
  return true;
}

function closePopover() {
  const popover = document.querySelector(".prs-popover[open]");
  if (!popover) return;
  popover.open = false;
  popover.querySelector("summary").focus();
}

function open(link) {
  if (!link) return false;
  link.click();
  return true;
}

function move(by) {
  const rows = [...document.querySelectorAll(ROWS)];
  if (!rows.length) return false;
  const now = rows.findIndex((row) => row.classList.contains("is-at"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, now + by))];
  rows[now]?.classList.remove("is-at");
  next.classList.add("is-at");
  next.querySelector("[data-row-link]").focus();
  return true;
}

// A focused link opens by itself.
function openRow() {
  if (document.activeElement !== document.body) return false;
  return open(document.querySelector(`${ROWS}.is-at [data-row-link]`));
}

function showKeys() {
  document.getElementById("keys-sheet")?.remove();
  const sheet = document.createElement("dialog");
  sheet.id = "keys-sheet";
  sheet.className = "prs-keys";
  sheet.setAttribute("aria-label", "Keys of this page");
  const list = document.createElement("dl");
  for (const [keys, meaning] of MEANINGS.filter(([, , fits]) => fits())) {
    const term = document.createElement("dt");
    for (const key of keys.split(" · ")) {
      const element = document.createElement("kbd");
      element.textContent = key;
      term.append(element, " ");
    }
    const description = document.createElement("dd");
    description.textContent = meaning;
    list.append(term, description);
  }
  const title = document.createElement("h2");
  title.textContent = "Keys";
  const form = document.createElement("form");
  form.method = "dialog";
  const close = document.createElement("button");
  close.className = "btn";
  close.textContent = "Close";
  form.append(close);
  sheet.append(title, list, form);
  sheet.addEventListener("close", () => sheet.remove()); // the focus goes back
  document.body.append(sheet);
  sheet.showModal();
  return true;
}

function marked(key) {
  return document.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

function tabs() {
  return [...document.querySelectorAll("[data-tab]")];
}

function log() {
  return document.getElementById("log-view");
}

function visible(element) {
  return element.checkVisibility?.() ?? true;
}
