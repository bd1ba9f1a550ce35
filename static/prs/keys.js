// Single keys, off in text fields and with modifiers. None acts: they lead or open.

const GO = {j: "/jobs/", n: "/nodes/"};
let prefix = "";

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (press(event.key)) event.preventDefault();
  });
}

function isTyping(target) {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}

function press(key) {
  if (prefix === "g") {
    prefix = "";
    if (GO[key]) { location.assign(GO[key]); return true; }
  }
  if (key === "g") { prefix = "g"; return true; }
  if (/^[0-9]$/.test(key)) return openTab(key === "0" ? 9 : Number(key) - 1);
  if (key === "/") return focus("[data-key='/'], input[type=search]");
  if (key === ".") return click("#pause");
  if (key === "c") return click("summary[data-key=c]");
  if (key === "r") return click("a[data-key=r]");
  if (key === "j" || key === "k") return moveRow(key === "j" ? 1 : -1);
  return false;
}

function openTab(number) {
  const tab = document.querySelectorAll(".prs-tabs a")[number];
  if (!tab) return false;
  tab.click();
  return true;
}

function focus(selector) {
  const field = document.querySelector(selector);
  field?.focus();
  return Boolean(field);
}

function click(selector) {
  const element = document.querySelector(selector);
  if (!element || element.hidden) return false;
  element.click();
  return true;
}

function moveRow(by) {
  const links = [...document.querySelectorAll("tbody tr th[scope=row] a")];
  if (!links.length) return false;
  const at = links.indexOf(document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at + by))].focus();
  return true;
}
