// A virtual list: lines of 18 px, as many elements as are seen and a few more.
//
// A browser's scroll area ends at some ten million pixels, so a long file is scaled:
// the place of the scroll bar is mapped to the whole of the file by
// (total - view) / (area - view), which reaches the last line. `top` in pixels of the
// unscaled file is the truth; wheel and keys move it exactly, dragging by the scale.
import { fillLine } from "./log_line.js";

const LINE = 18;
const AREA_LIMIT = 8_000_000;
const AROUND = 6; // lines kept above and below what is seen

export class LogView {
  constructor(element, source) {
    this.view = element;
    this.source = source;
    this.total = 0;
    this.top = 0;
    this.marked = null; // {first, last}
    this.needle = "";
    this.hits = new Set();
    this.presentHit = null;
    this.elements = new Map(); // line -> element
    this.onMove = () => {};
    this.build();
    source.onLines = () => this.paint();
  }

  build() {
    this.area = document.createElement("div");
    this.area.className = "prs-log-area";
    this.window = document.createElement("div");
    this.window.className = "prs-log-window";
    this.area.append(this.window);
    this.view.replaceChildren(this.area);
    this.view.addEventListener("scroll", () => this.scrolled());
    this.view.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.view.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(this.view);
    new ResizeObserver(() => this.fit()).observe(document.body);
  }

  // The pane ends where the window does.
  fit() {
    const top = Math.round(this.view.getBoundingClientRect().top + window.scrollY);
    this.view.style.setProperty("--log-top", `${top}px`);
  }

  get height() {
    return this.view.clientHeight;
  }

  get wholeHeight() {
    return this.total * LINE;
  }

  get greatestTop() {
    return Math.max(0, this.wholeHeight - this.height);
  }

  get isScaled() {
    return this.wholeHeight > AREA_LIMIT;
  }

  get areaHeight() {
    return Math.min(this.wholeHeight, AREA_LIMIT);
  }

  get scale() {
    const area = this.areaHeight - this.height;
    return this.isScaled && area > 0 ? this.greatestTop / area : 1;
  }

  get firstSeen() {
    return Math.floor(this.top / LINE) + 1;
  }

  get isAtEnd() {
    return this.top >= this.greatestTop - LINE;
  }

  setTotal(total) {
    this.total = total;
    this.area.style.height = `${this.areaHeight}px`;
    const digits = String(Math.max(total, 1)).length;
    this.view.style.setProperty("--gutter", `${Math.max(5, digits + 2.5)}ch`);
    this.moveTo(this.top);
  }

  // Bring a line into view, a third of the way down.
  show(line) {
    this.moveTo((line - 1) * LINE - this.height / 3);
  }

  showEnd() {
    this.moveTo(this.greatestTop);
  }

  moveTo(top) {
    this.top = Math.min(this.greatestTop, Math.max(0, top));
    this.expected = Math.round(this.top / this.scale);
    this.view.scrollTop = this.expected;
    this.paint();
    this.onMove();
  }

  scrolled() {
    const at = this.view.scrollTop;
    if (Math.abs(at - this.expected) < 1) return this.paint(); // our own move, or sideways
    this.expected = at;
    this.top = Math.min(this.greatestTop, at * this.scale);
    this.paint();
    this.onMove();
  }

  wheel(event) {
    if (!this.isScaled || event.ctrlKey || event.shiftKey || event.deltaY === 0) return;
    event.preventDefault();
    const unit = [1, LINE, this.height][event.deltaMode];
    this.moveTo(this.top + event.deltaY * unit);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(LINE, this.height - 2 * LINE);
    const moves = {
      Home: () => this.moveTo(0),
      End: () => this.showEnd(),
      PageUp: () => this.moveTo(this.top - page),
      PageDown: () => this.moveTo(this.top + page),
      ArrowUp: () => this.moveTo(this.top - LINE),
      ArrowDown: () => this.moveTo(this.top + LINE),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }

  // Lines that were here already keep their elements, and so what is selected in them.
  paint() {
    const first = Math.max(1, this.firstSeen - AROUND);
    const last = Math.min(this.total, this.firstSeen + Math.ceil(this.height / LINE) + AROUND);
    for (const [line, element] of this.elements) {
      if (line < first || line > last) {
        element.remove();
        this.elements.delete(line);
      }
    }
    let next = this.window.firstChild;
    for (let line = first; line <= last; line += 1) {
      let element = this.elements.get(line);
      if (!element) {
        element = this.newLine(line);
        this.elements.set(line, element);
        this.window.insertBefore(element, next);
      } else {
        next = element.nextSibling;
      }
      this.fill(line, element);
    }
    const at = this.view.scrollTop - this.top + (first - 1) * LINE;
    this.window.style.transform = `translateY(${at}px)`;
    if (this.total) this.source.want(first, last);
  }

  newLine(line) {
    const element = document.createElement("div");
    element.className = "prs-line";
    const number = document.createElement("a");
    number.href = `#L${line}`;
    number.dataset.line = line;
    number.tabIndex = -1; // the field "Line" is for the keyboard
    number.textContent = line;
    element.append(number, document.createElement("span"));
    return element;
  }

  fill(line, element) {
    const raw = this.source.line(line);
    const isMarked = this.marked !== null && line >= this.marked.first && line <= this.marked.last;
    element.classList.toggle("is-marked", isMarked);
    element.classList.toggle("is-hit", this.hits.has(line));
    element.classList.toggle("is-present-hit", this.presentHit === line);
    element.classList.toggle("is-absent", raw === undefined);
    const key = `${this.needle}\n${raw}`;
    if (element.filled === key) return;
    element.filled = key;
    const text = element.lastChild;
    if (raw === undefined) text.textContent = "…";
    else fillLine(text, raw, { cutBytes: this.source.cut.get(line), needle: this.needle });
  }
}
