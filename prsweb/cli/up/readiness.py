"""Wait for the server beside the supervisor's loop, which must not block."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from threading import Event, Thread

TIMEOUT_SECONDS = 2.0
LONG_SECONDS = 20.0


class ReadinessWatch:
    """``is_serving``: a page can be opened. ``is_ready``: every part is there."""

    def __init__(self, url: str, stop: Event) -> None:
        self.is_serving = Event()
        self.is_ready = Event()
        self._url = url
        self._began_at = time.monotonic()
        self._stop = stop
        Thread(target=self._watch, name="readiness", daemon=True).start()

    def missing_for_long(self) -> str:
        """Return the parts that are not ready, ``redis away, nodes 0 of 2``, once that
        has lasted for longer than a start takes; else nothing."""
        if time.monotonic() - self._began_at < LONG_SECONDS:
            return ""
        parts = read_parts(self._url + "readyz")
        return ", ".join(f"{name} {word}" for name, word in parts.items() if word != "ok")

    def _watch(self) -> None:
        # A refused readyz is a line in the server's log, so it is asked less often.
        waits = ((self.is_serving, "healthz", 0.1), (self.is_ready, "readyz", 0.25))
        for event, path, pause_seconds in waits:
            while not answers_ok(self._url + path):
                if self._stop.wait(pause_seconds):
                    return
            event.set()


def read_parts(url: str) -> dict[str, str]:
    """Return what ``/readyz`` says of each part; of the server alone when it says nothing."""
    try:
        with _opener().open(url, timeout=TIMEOUT_SECONDS) as answer:
            body = answer.read()
    except urllib.error.HTTPError as refused:  # 503 says why
        body = refused.read()
    except (OSError, ValueError):
        body = b""
    try:
        parts = dict(json.loads(body))
    except (ValueError, TypeError):
        return {"web": "silent"}
    parts.pop("ready", None)
    return {str(name): str(word) for name, word in parts.items()}


def _opener() -> urllib.request.OpenerDirector:
    # No proxy: this is our own machine, whatever the environment says.
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers_ok(url: str) -> bool:
    try:
        with _opener().open(url, timeout=TIMEOUT_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):  # an error status is an OSError too
        return False
