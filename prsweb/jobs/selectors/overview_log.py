"""The last lines of the log that tells how a job goes on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import job_folder
from runner.core.states import JobKind

STEP_LINES = 5
COMMAND_LINES = 15
TAIL_BYTES = 8192


@dataclass(frozen=True)
class OverviewLog:
    path: str  # below logs/
    lines: tuple[str, ...]  # the last ones, oldest first


def overview_log(job: Job) -> OverviewLog | None:
    """Return the end of the newest progress overview of a ParallelRunStep job, of any
    other that of its main node's output; None before the file exists."""
    logs = job_folder(job).logs
    if job.kind == JobKind.PARALLEL_RUN_STEP:
        path = max(logs.glob("job_progress_overview.2*.txt"), default=None)
        return _tail(logs, path, STEP_LINES) if path else None
    path = job_folder(job).attempt_log(job.main_node or 0, max(1, job.attempt))
    return _tail(logs, path, COMMAND_LINES)


def _tail(logs: Path, path: Path, count: int) -> OverviewLog | None:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    lines = tail.split("\n")
    whole = lines[1:] if size > TAIL_BYTES and len(lines) > 1 else lines
    shown = [line for line in whole if line]
    return OverviewLog(str(path.relative_to(logs)), tuple(shown[-count:]))
