// Charts: figures come from the server as plotly's JSON, colours from the page's theme.

const REFRESH_MS = 5_000;

for (const element of document.querySelectorAll("[data-chart]")) start(element);

async function start(element) {
  await draw(element);
  if (element.dataset.live === "1") setInterval(() => { if (!document.hidden) draw(element); }, REFRESH_MS);
}

async function draw(element) {
  let figure;
  try {
    const answer = await fetch(element.dataset.chart);
    if (!answer.ok) return;
    figure = await answer.json();
  } catch { return; } // what is drawn stays
  if (!figure.data?.length) return;
  const layout = {...figure.layout, ...theme(), height: 260, template: undefined};
  layout.xaxis = {...figure.layout.xaxis, ...axis()};
  layout.yaxis = {...figure.layout.yaxis, ...axis()};
  if (!element.dataset.drawn) element.replaceChildren();
  element.dataset.drawn = "1";
  await Plotly.react(element, figure.data, layout, {responsive: true, displaylogo: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d"]});
  table(element, figure);
}

function theme() {
  const styles = getComputedStyle(document.body);
  return {paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: {family: styles.fontFamily, size: 12, color: styles.color}};
}

function axis() {
  const line = getComputedStyle(document.documentElement).getPropertyValue("--prs-line").trim();
  return {gridcolor: line, zerolinecolor: line, linecolor: line};
}

function table(element, figure) {
  const place = element.parentElement.querySelector(".prs-chart-table > div");
  if (!place) return;
  const rows = [];
  for (const line of figure.data) {
    line.x.forEach((at, n) => rows.push([line.name, at, line.y[n]]));
  }
  const newest = rows.slice(-200);
  const body = newest.map(([name, at, value]) => {
    const row = document.createElement("tr");
    for (const text of [name, at, Number(value).toLocaleString()]) {
      row.append(Object.assign(document.createElement("td"), {textContent: text}));
    }
    return row;
  });
  const shown = document.createElement("table");
  shown.className = "table table-sm";
  const head = document.createElement("caption");
  head.textContent = `The last ${newest.length} of ${rows.length} values`;
  const rowGroup = document.createElement("tbody");
  rowGroup.append(...body);
  shown.append(head, rowGroup);
  place.replaceChildren(shown);
}
