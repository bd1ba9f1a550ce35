"""Wait for a job to end, with a progress bar on standard error."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any, Protocol

from prsweb.cli.client import ApiClient
from prsweb.cli.console import say
from prsweb.cli.failure import CommandFailed
from prsweb.cli.job_reference import get_job
from prsweb.cli.words import duration, state_word

Json = dict[str, Any]
FINAL_STATES = ("SUCCEEDED", "FAILED", "CANCELLED")
FIRST_POLL_SECONDS = 0.1
LONGEST_POLL_SECONDS = 1.0
BAR_CHARACTERS = 30
PLAIN_STEP_SECONDS = 10.0
# A server that starts again is away for a few seconds.
AWAY_SECONDS = 60.0


class Waited(Protocol):
    def is_set(self) -> bool: ...


def wait_for_job(client: ApiClient, job_id: str, *, stop: Waited | None = None) -> Json:
    """Return the ended job; when ``stop`` is set before, the job as it is.

    Goes on while the server is away for up to a minute.
    """
    bar = ProgressLine()
    pause = FIRST_POLL_SECONDS
    answered_at = time.monotonic()
    while True:
        try:
            job = get_job(client, job_id)
            answered_at = time.monotonic()
        except CommandFailed as failed:
            if failed.code != "unavailable" or time.monotonic() - answered_at > AWAY_SECONDS:
                raise
        else:
            bar.show(job)
            if job["state"] in FINAL_STATES or (stop is not None and stop.is_set()):
                bar.end()
                return job
        time.sleep(pause)
        pause = min(pause * 1.3, LONGEST_POLL_SECONDS)


class ProgressLine:
    """One line that is written over on a terminal; elsewhere a line now and then."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = ""
        self._said_at = 0.0
        self._state = ""

    def show(self, job: Json) -> None:
        text = progress_text(job)
        if text == self._last:
            return
        if self._is_terminal:
            padded = text.ljust(len(self._last))
            with suppress(OSError):
                sys.stderr.write(f"\r{padded}")
                sys.stderr.flush()
            self._last = text
            return
        now = time.monotonic()
        if job["state"] != self._state or now - self._said_at >= PLAIN_STEP_SECONDS:
            say(text)
            self._last, self._state, self._said_at = text, str(job["state"]), now

    def end(self) -> None:
        if self._is_terminal and self._last:
            say("")


def progress_text(job: Json) -> str:
    """Return ``digits  [#####.....]  50 %  45 of 90 mini-batches  Running``."""
    progress = job.get("progress") or {}
    state = state_word(job)
    if not job.get("mini_batches") or not progress:  # none, or none cut so far
        return f"{job['name']:12} {state}, {duration(job.get('seconds'))}"
    percent = float(progress.get("done_percent") or 0.0)
    filled = int(BAR_CHARACTERS * percent / 100)
    bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
    done = sum(int(progress.get(word) or 0) for word in ("succeeded", "partial", "failed"))
    more = "+" if progress.get("listing") else ""
    failed = f", {job['failed_items']} items failed" if job.get("failed_items") else ""
    return (
        f"{job['name']:12} [{bar}] {percent:3.0f} %  {done} of {job['mini_batches']}{more} "
        f"mini-batches{failed}  {state}, {duration(job.get('seconds'))}"
    )
