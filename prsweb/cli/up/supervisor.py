"""Keep the parts running; end them so that nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import Event

from prsweb.cli.failure import ENDED_BADLY, CommandFailed
from prsweb.cli.up.part import Part
from prsweb.paths import CHECKOUT

POLL_SECONDS = 0.02
KILL_WAIT_SECONDS = 3.0
STARTED_AFTER_SECONDS = 5.0  # a part that lived so long has started
FAILED_STARTS_LIMIT = 5
FIRST_BACK_OFF_SECONDS = 0.1
LONGEST_BACK_OFF_SECONDS = 2.0
LOG_TAIL_LINES = 15
# Somebody killed it, or the kernel for its memory: no fault of its start.
FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM)


class PartKeepsFailing(CommandFailed):
    """A part ended again and again right after its start."""

    status = ENDED_BADLY

    def __init__(self, part: Part, ending: str) -> None:
        remedy = f"\n{part.remedy}" if part.remedy else ""
        super().__init__(
            f"{part.name} ended {FAILED_STARTS_LIMIT} times in a row right after its "
            f"start, at last {ending}. The end of {part.log}:\n{tail(part.log)}{remedy}",
            code="unavailable",
        )


@dataclass
class RunningPart:
    part: Part
    process: subprocess.Popen[bytes] | None  # None: waits to be started again
    started_at: float  # monotonic
    failed_starts: int = 0
    start_again_at: float = 0.0  # monotonic


class Supervisor:
    """Starts parts, starts again those that die, and stops them all.

    Nothing here waits but ``stop``: call ``look`` again and again.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._parts: list[RunningPart] = []

    def start(self, part: Part) -> None:
        now = time.monotonic()
        self._parts.append(RunningPart(part, start_process(part), now))

    def look(self) -> None:
        """Start again what has ended. Raises PartKeepsFailing."""
        now = time.monotonic()
        for running in self._parts:
            if running.process is None:
                if now >= running.start_again_at:
                    running.process = start_process(running.part)
                    running.started_at = now
            elif running.process.poll() is not None:
                self._note_end(running, running.process, now)

    def stop(self, *, hurry: Event) -> list[str]:
        """End every part, stage by stage; kill all at once when ``hurry`` is set.

        Returns the names of those that outlived SIGKILL, normally none.
        """
        left: list[str] = []
        parts = sorted(self._parts, key=lambda running: running.part.stage)
        for _, stage in groupby(parts, key=lambda running: running.part.stage):
            left += _stop_stage([one for one in stage if one.process is not None], hurry)
        return left

    def _note_end(
        self, running: RunningPart, process: subprocess.Popen[bytes], now: float
    ) -> None:
        signal_group(process.pid, signal.SIGKILL)  # children it left behind
        ending = describe_end(process.returncode)
        has_started = now - running.started_at >= STARTED_AFTER_SECONDS
        if has_started or process.returncode in FROM_OUTSIDE:
            running.failed_starts = 0
        else:
            running.failed_starts += 1
        if running.failed_starts >= FAILED_STARTS_LIMIT:
            raise PartKeepsFailing(running.part, ending)
        wait = min(
            FIRST_BACK_OFF_SECONDS * 2 ** max(running.failed_starts - 1, 0),
            LONGEST_BACK_OFF_SECONDS,
        )
        running.process = None
        running.start_again_at = now + wait
        self._say(f"{running.part.name} (pid {process.pid}) {ending}; starting it again")


def start_process(part: Part) -> subprocess.Popen[bytes]:
    with part.log.open("ab") as log:
        return subprocess.Popen(
            part.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(part.environment),
            cwd=CHECKOUT,
            pass_fds=part.pass_fds,
            # Leads its own group, so that Ctrl-C in the terminal reaches us alone.
            start_new_session=True,
        )


def _stop_stage(stage: list[RunningPart], hurry: Event) -> list[str]:
    """Return the names of those still alive after SIGKILL."""
    processes = {one.part.name: one.process for one in stage if one.process is not None}
    for process in processes.values():
        signal_group(process.pid, signal.SIGTERM)
    grace_seconds = max((one.part.grace_seconds for one in stage), default=0.0)
    _wait_for_end(processes, grace_seconds, hurry)
    for process in processes.values():
        signal_group(process.pid, signal.SIGKILL)  # of ended parts: what they left
    _wait_for_end(processes, KILL_WAIT_SECONDS, Event())
    return [name for name, process in processes.items() if process.poll() is None]


def _wait_for_end(
    processes: dict[str, subprocess.Popen[bytes]], seconds: float, hurry: Event
) -> None:
    deadline = time.monotonic() + seconds
    while any(process.poll() is None for process in processes.values()):
        if time.monotonic() >= deadline or hurry.is_set():
            return
        time.sleep(POLL_SECONDS)


def signal_group(group: int, number: int) -> None:
    # No such group means everyone in it is gone, which is what we wanted.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def describe_end(return_code: int) -> str:
    """Return how a process ended in words: ``was killed by signal 9 (SIGKILL)``."""
    if return_code >= 0:
        return f"ended with exit code {return_code}"
    try:
        name = signal.Signals(-return_code).name
    except ValueError:  # a real-time signal
        name = f"SIG{-return_code}"
    return f"was killed by signal {-return_code} ({name})"


def tail(log: Path, lines: int = LOG_TAIL_LINES) -> str:
    """Return the last lines of a log; empty when there is none."""
    try:
        with log.open(errors="replace") as file:
            return "".join(deque(file, lines)).rstrip()
    except OSError:
        return ""
