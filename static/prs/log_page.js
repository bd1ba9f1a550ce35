// The log page: bar, links to lines, search, and a file that grows.
import { isPaused } from "./live.js";
import { LogSearch } from "./log_search.js";
import { LogSource } from "./log_source.js";
import { LogView } from "./logview.js";

const GROWTH_MS = 1_000;
const byId = (id) => document.getElementById(id);

class LogPage {
  constructor(card) {
    this.card = card;
    this.source = new LogSource(card.dataset.path, card.dataset.rangeUrl, card.dataset.searchUrl);
    this.isLive = card.dataset.live === "1";
    this.bytes = Number(card.dataset.bytes);
    this.unseen = 0;
    if (Number(card.dataset.total) > 0) this.begin(Number(card.dataset.total));
    this.follow = byId("log-follow");
    this.follow.addEventListener("change", () => this.followChanged());
    byId("log-goto").addEventListener("submit", (event) => this.goTo(event));
    byId("log-new").addEventListener("click", () => this.startFollowing());
    window.addEventListener("hashchange", () => this.showHash());
    document.addEventListener("keydown", (event) => this.key(event));
    if (this.isLive) this.timer = setInterval(() => this.look(), GROWTH_MS);
    document.addEventListener("prs:finished", () => this.look());
    this.open();
  }

  begin(total) {
    this.view = new LogView(byId("log-view"), this.source);
    this.view.setTotal(total);
    this.view.onMove = () => this.moved();
    this.view.view.addEventListener("click", (event) => this.clicked(event));
    this.source.onFailure = (error) => this.complain(error);
    this.search = new LogSearch(this.source, this.view, () => this.stopFollowing());
  }

  // Where to stand at first: at a line, at what is looked for, else at the end or the beginning.
  open() {
    if (!this.view) return;
    const query = new URLSearchParams(location.search);
    const hasHash = this.showHash();
    if (hasHash || query.has("find") || query.has("q")) this.stopFollowing();
    if (query.has("find")) this.search.run(query.get("find"), { goes: true });
    else if (query.has("q")) this.search.run(query.get("q"), { goes: !hasHash });
    else if (!hasHash && this.isLive) this.view.showEnd();
  }

  // #L10 or #L10-L20. Returns whether the address names lines.
  showHash() {
    const match = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
    if (!match || !this.view) return false;
    const [a, b] = [Number(match[1]), Number(match[2] ?? match[1])];
    this.view.marked = { first: Math.min(a, b), last: Math.max(a, b) };
    this.stopFollowing();
    this.view.show(this.view.marked.first);
    this.offerCopy();
    return true;
  }

  clicked(event) {
    const link = event.target.closest("a[data-line]");
    if (!link) return;
    event.preventDefault();
    const line = Number(link.dataset.line);
    const from = event.shiftKey && this.view.marked ? this.view.marked.first : line;
    const [first, last] = [Math.min(from, line), Math.max(from, line)];
    this.view.marked = { first, last };
    history.replaceState(null, "", first === last ? `#L${first}` : `#L${first}-L${last}`);
    this.stopFollowing();
    this.view.paint();
    this.offerCopy();
  }

  offerCopy() {
    const { first, last } = this.view.marked;
    this.copy ??= this.copyButton();
    this.copy.textContent = first === last ? `Copy L${first}` : `Copy L${first}–L${last}`;
  }

  copyButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-sm";
    button.addEventListener("click", () => this.copyMarked(button));
    byId("log-goto").after(button);
    return button;
  }

  async copyMarked(button) {
    const { first, last } = this.view.marked;
    const lines = [];
    try {
      while (first + lines.length <= last) {
        const count = Math.min(500, last - first - lines.length + 1);
        const found = (await this.source.fetchRange(first + lines.length, count)).lines;
        if (!found.length) break;
        lines.push(...found);
      }
      await navigator.clipboard.writeText(`${lines.join("\n")}\n`);
      button.textContent = `Copied ${lines.length} line${lines.length === 1 ? "" : "s"}`;
    } catch (error) {
      this.complain(error);
    }
  }

  goTo(event) {
    event.preventDefault();
    const field = event.target.elements.line;
    const line = Number(field.value.replace(/[^\d]/g, ""));
    if (!line || !this.view) return;
    history.replaceState(null, "", `#L${Math.min(line, this.view.total)}`);
    this.showHash();
    this.view.view.focus({ preventScroll: true });
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.view) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === "f") this.follow.click();
    else if (event.key === "n") this.search.step(1);
    else if (event.key === "N") this.search.step(-1);
    else if (event.target === document.body) this.view.key(event);
  }

  moved() {
    if (this.view.isAtEnd) this.seen();
    else if (this.follow?.checked && !this.isGrowing) this.stopFollowing();
  }

  followChanged() {
    if (this.follow.checked) this.startFollowing();
  }

  startFollowing() {
    this.follow.checked = true;
    this.view?.showEnd();
    this.seen();
  }

  stopFollowing() {
    if (this.follow) this.follow.checked = false;
  }

  seen() {
    this.unseen = 0;
    byId("log-new").hidden = true;
  }

  async look() {
    if (isPaused() || document.hidden || this.isLooking) return;
    this.isLooking = true;
    try {
      this.grown(await this.source.size());
    } catch {
      // The pill says that the server is away.
    } finally {
      this.isLooking = false;
    }
  }

  grown({ total_lines: total, total_bytes: bytes, live }) {
    if (!live) clearInterval(this.timer);
    if (bytes === this.bytes) return;
    this.tellSize(total, bytes);
    if (!this.view) return this.begin(total);
    if (bytes < this.bytes) this.source.forget(1); // written anew
    else this.source.forget(this.view.total);
    this.bytes = bytes;
    const added = total - this.view.total;
    this.isGrowing = true;
    this.view.setTotal(total);
    if (this.follow.checked) this.view.showEnd();
    this.isGrowing = false;
    if (!this.follow.checked && added > 0) this.offerNew(added);
  }

  offerNew(added) {
    this.unseen += added;
    const button = byId("log-new");
    button.textContent = `${this.unseen.toLocaleString("en")} new line${this.unseen === 1 ? "" : "s"} ↓`;
    button.hidden = false;
  }

  tellSize(total, bytes) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let [size, unit] = [bytes, 0];
    while (size >= 1024 && unit < 3) [size, unit] = [size / 1024, unit + 1];
    byId("log-status").textContent = `${total.toLocaleString("en")} line${total === 1 ? "" : "s"}, ${size.toFixed(unit ? 1 : 0)} ${units[unit]}`;
  }

  complain(error) {
    this.card.querySelector(".prs-log-error")?.remove();
    const message = document.createElement("p");
    message.className = "prs-log-error";
    message.setAttribute("role", "alert");
    message.textContent = error.name === "TimeoutError" ? "No answer for 10 s. " : `${error.message} `;
    const again = document.createElement("button");
    again.type = "button";
    again.className = "btn btn-sm";
    again.textContent = "Try again";
    again.addEventListener("click", () => {
      message.remove();
      this.view.paint();
    });
    message.append(again);
    this.card.append(message);
  }
}

const card = byId("log");
if (card) new LogPage(card);
