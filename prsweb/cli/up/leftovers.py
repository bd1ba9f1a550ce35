"""Find what a system has started and end it, however deep it hides.

A process group does not hold a program that daemonises. The environment does:
children inherit it. A part carries the mark of its ``prs up``; a job's process
carries PRSWEB_WORK_DIR below the home, and its node's name. A shell that merely
exported PRSWEB_HOME carries neither and is left alone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from runner.core.layout import Home

UP_MARK = "PRSWEB_UP_ID"
POLL_SECONDS = 0.02
SWEEP_SECONDS = 5.0


@dataclass(frozen=True)
class Marks:
    """By what the processes of one ``prs up`` (or ``prs node``) are known."""

    home: Home
    up_id: str
    node_names: frozenset[str]

    def fit_part(self, environment: Mapping[str, str]) -> bool:
        return environment.get(UP_MARK) == self.up_id

    def fit_job(self, environment: Mapping[str, str]) -> bool:
        work = environment.get("PRSWEB_WORK_DIR", "")
        node = environment.get("PRSWEB_NODE_NAME")
        return work.startswith(f"{self.home.root}/") and (
            node is None or node in self.node_names
        )


def find_marked(marks: Marks) -> set[int]:
    """Return the living processes that carry the marks, without this one."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            environment = process.environ()
            is_ours = marks.fit_part(environment) or marks.fit_job(environment)
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.add(process.pid)
    return found - {os.getpid()}


def sweep(
    marks: Marks, *, grace_seconds: float = 0.0, spare: frozenset[int] = frozenset()
) -> int:
    """End everything that carries the marks. Returns how many processes there were.

    SIGTERM first where there is a grace. Looks again until nothing is found: what
    forks while it is looked for has one more child.
    """
    first = find_marked(marks) - spare
    if first and grace_seconds:
        _signal(first, signal.SIGTERM)
        _wait_until_none(marks, spare, grace_seconds)
    deadline = time.monotonic() + SWEEP_SECONDS
    while (found := find_marked(marks) - spare) and time.monotonic() < deadline:
        _signal(found, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    return len(first)


def _wait_until_none(marks: Marks, spare: frozenset[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while find_marked(marks) - spare and time.monotonic() < deadline:
        time.sleep(5 * POLL_SECONDS)


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
