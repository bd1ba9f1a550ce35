// Lines of one log, fetched by ranges of 200; the last 40 ranges are kept.

export const RANGE_LINES = 200;
const RANGES_KEPT = 40;
const SLOW_MS = 10_000;

export class LogSource {
  constructor(path, rangeUrl, searchUrl) {
    this.path = path;
    this.rangeUrl = rangeUrl;
    this.searchUrl = searchUrl;
    this.ranges = new Map(); // number of the range -> lines, least recently used first
    this.pending = new Map();
    this.cut = new Map(); // line -> its whole length in bytes
    this.onLines = () => {};
    this.onFailure = () => {};
  }

  // The text of a line; undefined while it is on its way.
  line(number) {
    const key = Math.floor((number - 1) / RANGE_LINES);
    const lines = this.ranges.get(key);
    if (lines === undefined) return undefined;
    this.ranges.delete(key);
    this.ranges.set(key, lines);
    return lines[number - 1 - key * RANGE_LINES];
  }

  // Fetch what of lines first..last is not here.
  want(first, last) {
    const from = Math.floor((Math.max(1, first) - 1) / RANGE_LINES);
    const to = Math.floor((Math.max(1, last) - 1) / RANGE_LINES);
    for (let key = from; key <= to; key += 1) {
      if (!this.ranges.has(key) && !this.pending.has(key)) this.pending.set(key, this.load(key));
    }
  }

  async load(key) {
    try {
      const answer = await this.fetchRange(key * RANGE_LINES + 1, RANGE_LINES);
      this.ranges.set(key, answer.lines);
      for (const one of answer.cut) this.cut.set(one.line, one.bytes);
      while (this.ranges.size > RANGES_KEPT) this.ranges.delete(this.ranges.keys().next().value);
      this.onLines();
    } catch (error) {
      this.onFailure(error);
    } finally {
      this.pending.delete(key);
    }
  }

  // Forget the ranges from this line on: the file grew there, or was written anew.
  forget(fromLine) {
    const from = Math.floor((Math.max(1, fromLine) - 1) / RANGE_LINES);
    for (const key of [...this.ranges.keys()]) if (key >= from) this.ranges.delete(key);
  }

  // {total_lines, total_bytes, live} as of now.
  size() {
    return this.fetchRange(1, 0);
  }

  async fetchRange(first, count) {
    const query = new URLSearchParams({ path: this.path, first, count });
    return this.ask(`${this.rangeUrl}?${query}`);
  }

  async search(text, fromLine) {
    const query = new URLSearchParams({ path: this.path, q: text, from_line: fromLine });
    return this.ask(`${this.searchUrl}?${query}`);
  }

  async ask(url) {
    const response = await fetch(url, { signal: AbortSignal.timeout(SLOW_MS) });
    const answer = response.headers.get("Content-Type")?.includes("json") ? await response.json() : {};
    if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
    return answer;
  }
}
