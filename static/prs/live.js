// The pill, and what happens when the stream of events pauses, breaks or ends.
//
// Named events of the stream come as DOM events on #stream; unnamed ones are swapped by
// htmx. The page that was served stays readable whatever happens to the stream.

const LOST_AFTER_MS = 30_000;
const POLL_MS = 5_000;

let lastSign = Date.now();
let state = "connecting"; // connecting, live, paused, polling, finished, signed-out
let pollTimer = null;

export function startLive() {
  const stream = document.getElementById("stream");
  const pill = document.getElementById("pill");
  if (!stream || !pill) return;
  for (const name of ["ping", "htmx:sse:after:message"]) stream.addEventListener(name, noteSign);
  stream.addEventListener("resync", () => { noteSign(); refresh(); });
  stream.addEventListener("job-ended", finish);
  stream.addEventListener("signed-out", signOut);
  stream.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401) signOut();
    else if (state === "live") enter("connecting");
  });
  preparePause(stream);
  setInterval(watch, 1000);
}

function noteSign() {
  lastSign = Date.now();
  if (state === "connecting" || state === "polling") enter("live");
}

function enter(next) {
  state = next;
  if (next !== "polling" && pollTimer) { clearInterval(pollTimer); pollTimer = null; }
  banner(next === "polling" ? `Live updates lost since ${clock(lastSign)}. The page asks every 5 s.` : "");
  show();
}

function watch() {
  const silent = Date.now() - lastSign;
  if ((state === "live" || state === "connecting") && !document.hidden && silent > LOST_AFTER_MS) {
    enter("polling");
    pollTimer = setInterval(refresh, POLL_MS);
  }
  show();
}

function show() {
  const pill = document.getElementById("pill");
  if (!pill) return;
  const age = Math.max(0, Math.round((Date.now() - lastSign) / 1000));
  const words = {
    connecting: "Reconnecting…", live: `Live · ${age} s`, paused: "Paused",
    polling: "Polling", finished: "Finished", "signed-out": "Signed out",
  };
  pill.dataset.state = state;
  if (pill.textContent !== words[state]) pill.textContent = words[state];
}

function preparePause(stream) {
  const button = document.getElementById("pause");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (state === "paused") {
      button.setAttribute("aria-label", "Pause live updates");
      window.location.reload();
    } else {
      stream.remove(); // closes it
      enter("paused");
      button.setAttribute("aria-label", "Resume live updates");
    }
  });
}

function finish() {
  enter("finished");
  document.getElementById("pause")?.setAttribute("hidden", "");
  refresh();
}

function signOut() {
  enter("signed-out");
  const target = document.getElementById("live-banner");
  if (!target) return;
  target.hidden = false;
  target.textContent = "Your session has ended. ";
  const link = document.createElement("a");
  link.href = `/sign-in/?next=${encodeURIComponent(location.pathname + location.search)}`;
  link.textContent = "Sign in again";
  target.append(link);
}

// Fetch this page's own address and morph its content: what is open, ticked or typed stays.
export async function refresh() {
  try {
    await htmx.ajax("GET", location.pathname + location.search, {
      target: "#main", select: "#main", swap: "outerMorph",
    });
  } catch { /* the server is away: the next look tells */ }
}

function banner(text) {
  const target = document.getElementById("live-banner");
  if (!target) return;
  target.hidden = !text;
  target.textContent = text;
}

function clock(at) {
  return new Date(at).toISOString().slice(11, 19) + " UTC";
}
