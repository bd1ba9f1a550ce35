// Search over the whole file, done by the server; hits are gone through one by one.

const HITS_KEPT = 5_000;
const byId = (id) => document.getElementById(id);

export class LogSearch {
  constructor(source, view, onGo) {
    this.source = source;
    this.view = view;
    this.onGo = onGo;
    this.hits = []; // lines
    this.present = -1;
    this.round = 0; // a newer search ends an older one
    this.form = byId("log-search");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.form.elements.q.value;
      if (text === this.text && this.hits.length) this.step(1);
      else this.run(text, { goes: true });
    });
    byId("log-next").addEventListener("click", () => this.step(1));
    byId("log-previous").addEventListener("click", () => this.step(-1));
  }

  async run(text, { goes }) {
    const round = (this.round += 1);
    this.text = text;
    this.form.elements.q.value = text;
    this.hits = [];
    this.present = -1;
    this.view.hits = new Set();
    this.view.presentHit = null;
    this.view.needle = text;
    this.view.paint();
    this.keepInAddress(text);
    if (!text) return this.tell("");
    this.tell("searching…");
    let from = 1;
    let isGoing = goes;
    while (round === this.round) {
      let answer;
      try {
        answer = await this.source.search(text, from);
      } catch (error) {
        return this.tell(error.message);
      }
      if (round !== this.round) return;
      this.add(answer.hits);
      if (isGoing && this.hits.length) {
        this.goTo(this.nearest());
        isGoing = false;
      }
      this.isComplete = answer.is_complete;
      this.searchedTo = answer.searched_to_line;
      this.tellHits();
      if (answer.is_complete || this.hits.length >= HITS_KEPT) return;
      from = answer.searched_to_line + 1;
    }
  }

  add(hits) {
    for (const hit of hits) {
      this.hits.push(hit.line);
      this.view.hits.add(hit.line);
    }
    this.view.paint();
  }

  // The first hit at or below what is seen, else the first of all.
  nearest() {
    const at = this.hits.findIndex((line) => line >= this.view.firstSeen);
    return at < 0 ? 0 : at;
  }

  step(by) {
    if (!this.hits.length) return;
    this.goTo((this.present + by + this.hits.length) % this.hits.length);
  }

  goTo(place) {
    this.present = place;
    this.view.presentHit = this.hits[place];
    this.onGo();
    this.view.show(this.hits[place]);
    this.tellHits();
  }

  tellHits() {
    const count = this.hits.length;
    const more = this.isComplete === false ? "+" : "";
    const to = more ? `, to line ${(this.searchedTo ?? 0).toLocaleString("en")}` : "";
    if (!count) this.tell(more ? `no hit yet${to}` : "no hit");
    else if (this.present < 0) this.tell(`${count}${more} hit${count === 1 ? "" : "s"}${to}`);
    else this.tell(`${this.present + 1} of ${count}${more}${to}`);
    byId("log-next").hidden = byId("log-previous").hidden = !count;
  }

  tell(text) {
    byId("log-hits").textContent = text;
    if (!text) byId("log-next").hidden = byId("log-previous").hidden = true;
  }

  keepInAddress(text) {
    const address = new URL(location.href);
    address.searchParams.delete("find");
    if (text) address.searchParams.set("q", text);
    else address.searchParams.delete("q");
    history.replaceState(null, "", address);
  }
}
