// Live updates: the pill, pause and resume, polling when the stream is away.
//
// htmx swaps unnamed messages of #stream itself. Named ones arrive here as events
// that bubble: ping, resync, job-ended, signed-out.

const LOST_AFTER_MS = 30_000;
const POLL_MS = 5_000;
const RETRY_MS = 2_000;

let state = "connecting"; // live, paused, reconnecting, polling, finished, signed-out
let signAt = performance.now(); // last message or ping
let lostAt = null; // Date: since when nothing came
let polledAt = 0;
let isRefreshing = false;

export function isPaused() {
  return state === "paused";
}

export function isFinished() {
  return state === "finished" || state === "signed-out";
}

export function startLive() {
  keepOpenDetails();
  if (!stream()) return;
  document.addEventListener("htmx:sse:after:connection", sign);
  document.addEventListener("htmx:sse:after:message", sign);
  document.addEventListener("htmx:sse:error", (event) => failed(event.detail?.status));
  document.addEventListener("htmx:response:error", (event) => {
    if (event.target.id === "stream") connectAgain(event.detail?.ctx?.response?.status);
  });
  document.addEventListener("htmx:error", (event) => {
    if (event.target.id === "stream") connectAgain();
  });
  document.addEventListener("resync", refresh);
  document.addEventListener("job-ended", finish);
  document.addEventListener("signed-out", signedOut);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) signAt = performance.now(); // the stream takes up again by itself
  });
  pauseButton()?.addEventListener("click", () => (isPaused() ? resume() : pause()));
  setInterval(tick, 1000);
}

function stream() {
  return document.getElementById("stream");
}

function pauseButton() {
  return document.getElementById("pause");
}

function sign(event) {
  if (event.target.id !== "stream" || isFinished()) return;
  signAt = performance.now();
  lostAt = null;
  banner(null);
  show("live");
}

function tick() {
  if (isFinished() || isPaused() || document.hidden) return;
  const silence = performance.now() - signAt;
  if (silence < LOST_AFTER_MS) {
    if (state === "live") show("live");
    return;
  }
  lostAt ??= new Date(Date.now() - silence);
  banner(`Live updates lost since ${lostAt.toLocaleTimeString()}. The page asks every 5 s.`);
  show("polling");
  if (performance.now() - polledAt >= POLL_MS) refresh();
}

function failed(status) {
  if (status === 401) signedOut();
  else if (!isFinished() && !isPaused() && state !== "polling") show("reconnecting");
}

// htmx takes up a broken stream by itself, but not one that never began.
function connectAgain(status) {
  failed(status);
  if (isFinished() || status === 404) return;
  setTimeout(() => {
    if (isFinished() || isPaused()) return;
    const old = stream();
    if (!old) return;
    const fresh = old.cloneNode(false);
    fresh.removeAttribute("data-htmx-powered");
    old.replaceWith(fresh);
    htmx.process(fresh);
  }, RETRY_MS);
}

function pause() {
  stream()?.remove(); // which closes the stream
  show("paused");
}

function resume() {
  show("connecting");
  signAt = performance.now();
  refresh(); // brings a stream element that starts where the page then stands
}

async function finish() {
  await refresh();
  stream()?.remove();
  show("finished");
  document.dispatchEvent(new CustomEvent("prs:finished"));
}

function signedOut() {
  stream()?.remove();
  const next = encodeURIComponent(location.pathname + location.search);
  banner("You are signed out; the page stays as it is.", {
    href: `/sign-in/?next=${next}`,
    text: "Sign in again",
  });
  show("signed-out");
}

// Fetch the page's own address and morph what differs.
export async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  polledAt = performance.now();
  try {
    const response = await fetch(location.href, { cache: "no-store" });
    if (response.redirected && new URL(response.url).pathname === "/sign-in/") {
      signedOut();
    } else if (response.ok) {
      await morphMain(await response.text());
    }
  } catch {
    // The server is away: the pill says so already.
  } finally {
    isRefreshing = false;
  }
}

async function morphMain(html) {
  const main = document.getElementById("main");
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("main");
  if (!fresh) return;
  await htmx.swap({ sourceElement: main, target: main, swap: "innerMorph", text: fresh.innerHTML });
}

function banner(text, link) {
  const element = document.getElementById("live-banner");
  if (!element) return;
  element.hidden = text === null;
  if (text === null || element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(text);
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = link.href;
    anchor.textContent = link.text;
    element.append(" ", anchor);
  }
}

const WORDS = {
  connecting: "Connecting…",
  paused: "Paused",
  reconnecting: "Reconnecting…",
  polling: "Polling",
  finished: "Finished",
  "signed-out": "Signed out",
};

function show(next) {
  state = next;
  const pill = document.getElementById("pill");
  const age = Math.floor((performance.now() - signAt) / 1000);
  document.getElementById("pill-word").textContent = WORDS[next] ?? `Live · ${age} s`;
  pill.dataset.state = next;
  const button = pauseButton();
  if (!button) return;
  button.hidden = isFinished() || next === "connecting";
  button.setAttribute("aria-pressed", String(next === "paused"));
  const word = next === "paused" ? "Resume" : "Pause";
  button.setAttribute("aria-label", `${word} live updates`);
  button.title = `${word} live updates (.)`;
  const use = button.querySelector("use");
  const icon = next === "paused" ? "player-play" : "player-pause";
  use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${icon}`));
}

// What a person opened stays open, whatever the server's copy says.
function keepOpenDetails() {
  htmx.registerExtension("prs-details", {
    htmx_before_morph_attr: (element, detail) =>
      !(element.tagName === "DETAILS" && detail.attrName === "open"),
  });
}
