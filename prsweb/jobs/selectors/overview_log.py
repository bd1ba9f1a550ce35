"""The last lines of the progress overview that the master role writes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from runner.core.layout import JobFolder

LINES = 5
TAIL_BYTES = 4096


@dataclass(frozen=True)
class OverviewLog:
    path: str  # below logs/
    lines: tuple[str, ...]  # the last ones, oldest first


def last_overview_lines(folder: JobFolder, *, count: int = LINES) -> OverviewLog | None:
    """Return the last lines of the newest overview; None before it exists."""
    newest = max(folder.logs.glob("job_progress_overview.2*.txt"), default=None)
    if newest is None:
        return None
    try:
        with newest.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    lines = tail.splitlines()
    whole = lines[1:] if size > TAIL_BYTES else lines
    return OverviewLog(newest.name, tuple(whole[-count:]))
