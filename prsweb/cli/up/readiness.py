"""Wait for the server beside the supervisor's loop, which must not block."""

from __future__ import annotations

import urllib.error
import urllib.request
from threading import Event, Thread

TIMEOUT_SECONDS = 2.0


class ReadinessWatch:
    """``is_serving``: a page can be opened. ``is_ready``: every part is there."""

    def __init__(self, url: str, stop: Event) -> None:
        self.is_serving = Event()
        self.is_ready = Event()
        self._url = url
        self._stop = stop
        Thread(target=self._watch, name="readiness", daemon=True).start()

    def _watch(self) -> None:
        # A refused readyz is a line in the server's log, so it is asked less often.
        waits = ((self.is_serving, "healthz", 0.1), (self.is_ready, "readyz", 0.25))
        for event, path, pause_seconds in waits:
            while not answers_ok(self._url + path):
                if self._stop.wait(pause_seconds):
                    return
            event.set()


def answers_ok(url: str) -> bool:
    # No proxy: this is our own machine, whatever the environment says.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):  # an error status is an OSError too
        return False
