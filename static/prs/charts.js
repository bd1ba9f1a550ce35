// Charts: the figure comes from the server, colours from the theme, a table beside each.
import { isPaused } from "./live.js";

const REFRESH_MS = 5_000;
const TABLE_ROWS = 200;
const NARROW = matchMedia("(max-width: 639px)");

class Chart {
  constructor(element) {
    this.element = element;
    this.note = document.getElementById(`${element.id}-note`);
    this.details = document.getElementById(`${element.id}-table`);
    this.details.addEventListener("toggle", () => this.fillTable());
    this.isDrawn = false;
    this.isWanted = !NARROW.matches;
    if (!this.isWanted) this.offer();
  }

  // On a narrow screen the table stands first.
  offer() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-sm";
    button.textContent = "Show chart";
    button.addEventListener("click", () => {
      button.remove();
      this.isWanted = true;
      this.draw();
    });
    this.element.style.minHeight = "0";
    this.element.before(button);
    this.details.open = true;
  }

  async load() {
    let response;
    try {
      response = await fetch(this.element.dataset.chart);
    } catch {
      return; // the server is away: the pill says so
    }
    if (!response.ok) return;
    this.figure = await response.json();
    const leftOut = this.figure.layout.meta.left_out;
    this.note.hidden = !leftOut;
    this.note.textContent = `The ${this.figure.data.length} lines with the greatest peaks; ${leftOut} more.`;
    this.draw();
    this.fillTable();
  }

  draw() {
    if (!this.figure?.data.some((line) => line.x.length)) return;
    this.element.querySelector("[data-chart-empty]")?.remove();
    if (!this.isWanted) return;
    this.element.style.minHeight = "";
    const layout = { ...themed(this.figure.layout, this.figure.data), uirevision: "kept" };
    layout.xaxis.range = aroundFew(this.figure.data);
    const options = { displaylogo: false, responsive: true, displayModeBar: false };
    Plotly.react(this.element, this.figure.data, layout, options);
    if (!this.isDrawn) {
      // The drawing itself says nothing to a screen reader; the table does.
      this.element.querySelector(".plot-container")?.setAttribute("aria-hidden", "true");
      this.isDrawn = true;
    }
  }

  fillTable() {
    if (!this.details.open || !this.figure) return;
    const title = this.figure.layout.yaxis.title.text;
    const rows = this.figure.data.flatMap((line) =>
      line.x.map((at, place) => [at.slice(0, 19).replace("T", " "), line.name, line.y[place], line.customdata[place]]),
    );
    rows.sort((a, b) => (a[0] < b[0] ? 1 : -1));
    const table = document.createElement("table");
    table.className = "table prs-table";
    table.append(row("th", ["Time (UTC)", "Of", title, "Highest"], "thead"));
    const body = document.createElement("tbody");
    for (const values of rows.slice(0, TABLE_ROWS)) {
      const shown = values.map((value) => (typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : value));
      body.append(row("td", shown));
    }
    table.append(body);
    this.details.querySelector(".table-responsive").replaceChildren(table);
  }
}

function row(tag, texts, group) {
  const line = document.createElement("tr");
  for (const text of texts) {
    const cell = document.createElement(tag);
    if (tag === "th") cell.scope = "col";
    cell.textContent = text;
    line.append(cell);
  }
  if (!group) return line;
  const head = document.createElement(group);
  head.append(line);
  return head;
}

// A job of a second has two samples: they stand in the middle of ten seconds.
function aroundFew(lines) {
  const times = lines.flatMap((line) => line.x).map((at) => new Date(at).getTime());
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (last - first >= 10_000) return undefined;
  return [new Date(first - 5000).toISOString(), new Date(last + 5000).toISOString()];
}

function timeFormat(lines) {
  const ends = lines.flatMap((line) => [line.x[0], line.x.at(-1)]).filter(Boolean);
  const days = new Set(ends.map((at) => at.slice(0, 10)));
  return days.size > 1 ? "%d %b %H:%M" : "%H:%M:%S";
}

function themed(layout, lines) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--prs-${name}`).trim();
  const axis = {
    gridcolor: colour("line"),
    linecolor: colour("line-strong"),
    zerolinecolor: colour("line-strong"),
    tickfont: { size: 11, color: colour("quiet") },
    automargin: true,
  };
  return {
    ...layout,
    height: 240,
    margin: { l: 52, r: 8, t: 8, b: 28 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: style.getPropertyValue("--prs-sans"), size: 12, color: colour("text") },
    hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("line-strong"), font: { color: colour("text"), size: 12 } },
    legend: { orientation: "h", y: -0.14, x: 0, font: { size: 11, color: colour("quiet") } },
    xaxis: { ...layout.xaxis, ...axis, showgrid: false, nticks: 6, tickformat: timeFormat(lines) },
    yaxis: { ...layout.yaxis, ...axis, title: undefined },
  };
}

const charts = [...document.querySelectorAll("[data-chart]")].map((element) => new Chart(element));
let isLive = charts.some((chart) => chart.element.dataset.live === "1");

async function loadAll() {
  for (const chart of charts) await chart.load();
}

document.addEventListener("prs:finished", () => {
  isLive = false;
  loadAll();
});
await loadAll();
setInterval(() => {
  if (isLive && !isPaused() && !document.hidden) loadAll();
}, REFRESH_MS);
