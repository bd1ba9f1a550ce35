// Times: the full value in UTC and in the browser's zone, on hover and focus.

export function startTimes() {
  document.addEventListener("pointerover", (event) => tell(event.target));
}

function tell(element) {
  const time = element.closest?.("time[datetime]");
  if (!time || "told" in time.dataset) return;
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const local = at.toLocaleString(document.documentElement.lang, { timeZoneName: "short" });
  time.title = `${time.dateTime}\n${local}`;
}
