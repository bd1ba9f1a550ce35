// The log viewer: every line of a file of any size, by ranges, in a list of fixed height.
//
// A line is 18 px high. A browser draws no element higher than some 30 million px, so the
// scrolled area ends at 8 million px and positions in it are scaled by
// (lines - seen) / (height - view): the first and the last line are both reached.

const LINE_PX = 18;
const MOST_PX = 8_000_000;
const RANGE_LINES = 200;
const KEPT_RANGES = 40;
const SPARE_LINES = 8;
const FOLLOW_MS = 500;
const SLOW_MS = 10_000;

const root = document.querySelector("[data-log]");
if (root) new LogView(root, await loadAnsi(root.dataset.ansi)).start();

async function loadAnsi(url) {
  const {AnsiUp} = await import(url);
  const ansi = new AnsiUp();
  ansi.use_classes = true;
  ansi.escape_html = true;
  return ansi;
}

function LogView(element, ansi) {
  const view = element.querySelector("[data-log-view]");
  const status = element.querySelector("[data-log-status]");
  const follow = element.querySelector("[data-log-follow]");
  const sizer = document.createElement("div");
  const pane = document.createElement("ol");
  const ranges = new Map(); // number of the range -> lines, or a promise
  let total = Number(element.dataset.total);
  let isLive = element.dataset.live === "1";
  let top = 0; // first line seen, from 0; a fraction
  let hits = [];
  let hit = -1;
  let marked = null;
  let isOurScroll = false;

  this.start = () => {
    sizer.className = "prs-log-sizer";
    pane.className = "prs-log-lines prs-log-pane";
    view.replaceChildren(sizer);
    sizer.append(pane);
    view.classList.add("prs-log-virtual");
    view.addEventListener("scroll", onScroll, {passive: true});
    view.addEventListener("wheel", onWheel, {passive: false});
    view.addEventListener("keydown", onKey);
    view.addEventListener("copy", onCopy);
    pane.addEventListener("click", onClick);
    new ResizeObserver(draw).observe(view);
    element.querySelector("[data-log-goto]").addEventListener("submit", onGoto);
    element.querySelector("[data-log-search]").addEventListener("submit", onSearch);
    element.querySelector("[data-log-next]").addEventListener("click", () => showHit(hit + 1));
    element.querySelector("[data-log-previous]").addEventListener("click", () => showHit(hit - 1));
    follow.addEventListener("change", () => { if (follow.checked) goEnd(); });
    window.addEventListener("hashchange", openHash);
    if (!openHash()) { if (isLive || follow.checked) goEnd(); else goTo(Number(element.dataset.first) - 1); }
    const find = new URLSearchParams(location.search).get("find");
    if (find) search(find);
    if (isLive) setInterval(look, FOLLOW_MS);
  };

  const seen = () => Math.max(1, Math.floor(view.clientHeight / LINE_PX));
  const last = () => Math.max(0, total - seen());
  const height = () => Math.min(total * LINE_PX, MOST_PX);
  const travel = () => Math.max(1, height() - view.clientHeight);

  function goTo(line) {
    top = Math.min(last(), Math.max(0, line));
    draw();
    isOurScroll = true;
    view.scrollTop = last() ? (top / last()) * travel() : 0;
  }

  function goEnd() { goTo(last()); }

  function onScroll() {
    if (isOurScroll) { isOurScroll = false; return; }
    top = Math.min(last(), (view.scrollTop / travel()) * last());
    if (top < last() - 1 && follow.checked) follow.checked = false;
    draw();
  }

  function onWheel(event) {
    if (event.ctrlKey || !event.deltaY) return;
    event.preventDefault();
    const lines = event.deltaMode === 0 ? event.deltaY / LINE_PX : event.deltaY * 3;
    if (lines < 0) follow.checked = false;
    goTo(top + lines);
  }

  function onKey(event) {
    const moves = {
      Home: 0, End: last(), PageUp: top - seen() + 1, PageDown: top + seen() - 1,
      ArrowUp: top - 1, ArrowDown: top + 1,
    };
    if (event.key === "f") { follow.checked = true; goEnd(); return; }
    if (event.key === "n" && hits.length) { showHit(hit + 1); return; }
    if (event.key === "N" && hits.length) { showHit(hit - 1); return; }
    if (!(event.key in moves) || event.ctrlKey) return;
    event.preventDefault();
    if (event.key !== "End") follow.checked = false;
    goTo(moves[event.key]);
  }

  function draw() {
    sizer.style.height = `${Math.max(height(), 1)}px`;
    const first = Math.floor(top);
    const end = Math.min(total, first + seen() + SPARE_LINES);
    const rows = [];
    for (let line = first; line < end; line += 1) rows.push(row(line));
    pane.replaceChildren(...rows);
    pane.style.transform = `translateY(${-(top - first) * LINE_PX}px)`;
    if (!total) pane.replaceChildren(Object.assign(document.createElement("li"), {textContent: ""}));
  }

  function row(line) {
    const item = document.createElement("li");
    item.value = line + 1;
    item.id = `L${line + 1}`;
    item.className = "prs-log-line";
    if (marked && line + 1 >= marked[0] && line + 1 <= marked[1]) item.classList.add("is-marked");
    if (hits[hit] === line + 1) item.classList.add("is-hit");
    const number = document.createElement("a");
    number.href = `#L${line + 1}`;
    number.className = "prs-log-number";
    number.textContent = line + 1;
    const text = document.createElement("span");
    text.className = "prs-log-text";
    const lines = ranges.get(Math.floor(line / RANGE_LINES));
    if (Array.isArray(lines)) text.innerHTML = render(lines[line % RANGE_LINES] ?? "");
    else if (lines instanceof Error) text.textContent = "not loaded: press Home or End to try again";
    else fetchRange(Math.floor(line / RANGE_LINES));
    item.append(number, text);
    return item;
  }

  // Colours as classes, everything else escaped; only the last state of a line that was
  // written over by carriage returns; other control codes dropped.
  function render(line) {
    const states = line.split("\r").filter((state) => state !== "");
    const shown = (states.at(-1) ?? "")
      .replace(/\x1b\][^\x07\x1b]*(\x07|\x1b\\)/g, "")
      .replace(/\x1b\[[0-9;?]*[A-HJKSTfhlnsu]/g, "")
      .replace(/[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]/g, "");
    const updates = states.length > 1 ? `<span class="prs-log-updates">↻ ${states.length} updates</span>` : "";
    return ansi.ansi_to_html(`${shown}\x1b[0m`) + updates;
  }

  async function fetchRange(number) {
    if (ranges.has(number)) return;
    const slow = setTimeout(() => { status.textContent = "This part takes long …"; }, SLOW_MS);
    const query = new URLSearchParams({
      path: element.dataset.path, first: number * RANGE_LINES + 1, count: RANGE_LINES,
    });
    const asked = fetch(`${element.dataset.rangeUrl}?${query}`);
    ranges.set(number, asked);
    try {
      const answer = await asked;
      if (!answer.ok) throw new Error(answer.status);
      const found = await answer.json();
      ranges.set(number, found.lines);
      note(found);
    } catch {
      ranges.delete(number);
      status.textContent = "The server did not give these lines; what is shown stays.";
      return;
    } finally { clearTimeout(slow); }
    while (ranges.size > KEPT_RANGES) ranges.delete(ranges.keys().next().value);
    draw();
  }

  function note(found) {
    const grown = found.total_lines - total;
    total = found.total_lines;
    isLive = found.live;
    status.textContent = `${total.toLocaleString()} lines${isLive ? " · growing" : ""}`;
    if (grown > 0 && !follow.checked && isLive) status.textContent += ` · ${grown} new ↓`;
  }

  // A growing file: ask for its end; what stands there replaces the last range.
  async function look() {
    if (document.hidden || !isLive) return;
    const before = total;
    const query = new URLSearchParams({path: element.dataset.path, first: -1, count: 1});
    try {
      const answer = await fetch(`${element.dataset.rangeUrl}?${query}`);
      if (!answer.ok) { status.textContent = "The file cannot be read any more; what is shown stays."; return; }
      const found = await answer.json();
      if (found.total_lines < before) ranges.clear(); // truncated: a new section
      note(found);
    } catch { return; }
    if (total === before) return;
    for (let n = Math.floor(Math.max(0, before - 1) / RANGE_LINES); n <= Math.floor(total / RANGE_LINES); n += 1) ranges.delete(n);
    if (follow.checked) goEnd(); else draw();
  }

  function openHash() {
    const match = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
    if (!match) return false;
    marked = [Number(match[1]), Number(match[2] ?? match[1])].sort((a, b) => a - b);
    follow.checked = false;
    goTo(marked[0] - 1 - Math.min(5, Math.floor(seen() / 3)));
    return true;
  }

  function onClick(event) {
    const number = event.target.closest(".prs-log-number");
    if (!number) return;
    event.preventDefault();
    const line = number.closest("li").value;
    const from = event.shiftKey && marked ? marked[0] : line;
    const [a, b] = [from, line].sort((x, y) => x - y);
    history.replaceState(null, "", a === b ? `#L${a}` : `#L${a}-L${b}`);
    marked = [a, b];
    draw();
  }

  function onGoto(event) {
    event.preventDefault();
    const line = Number(event.target.elements.line.value);
    if (!Number.isInteger(line) || line < 1) return;
    follow.checked = false;
    goTo(line - 1);
    view.focus();
  }

  function onSearch(event) {
    event.preventDefault();
    search(event.target.elements.q.value);
  }

  async function search(text) {
    const place = element.querySelector("[data-log-hits]");
    hits = []; hit = -1;
    if (!text) { place.textContent = ""; return; }
    let from = 1, complete = false;
    while (!complete && hits.length < 10_000) {
      const query = new URLSearchParams({path: element.dataset.path, q: text, from_line: from});
      const answer = await fetch(`${element.dataset.searchUrl}?${query}`);
      if (!answer.ok) { place.textContent = "cannot be searched"; return; }
      const found = await answer.json();
      hits.push(...found.hits.map((one) => one.line));
      complete = found.is_complete;
      from = found.searched_to_line + 1;
      place.textContent = complete ? `${hits.length} hits` : `${hits.length} hits, searched to line ${from - 1}`;
      if (hit < 0 && hits.length) showHit(0);
    }
    if (!hits.length) place.textContent = "no hit";
    for (const name of ["next", "previous"]) element.querySelector(`[data-log-${name}]`).hidden = hits.length < 2;
  }

  function showHit(number) {
    if (!hits.length) return;
    hit = (number + hits.length) % hits.length;
    element.querySelector("[data-log-hits]").textContent = `${hit + 1} of ${hits.length} hits`;
    follow.checked = false;
    goTo(hits[hit] - 1 - Math.floor(seen() / 3));
  }

  // Selected lines are copied as text, without their numbers.
  function onCopy(event) {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed) return;
    const lines = [...pane.querySelectorAll("li")].filter((line) => selection.containsNode(line, true));
    if (lines.length < 2) return;
    event.clipboardData.setData("text/plain", lines.map((line) => line.querySelector(".prs-log-text").textContent).join("\n"));
    event.preventDefault();
  }
}
