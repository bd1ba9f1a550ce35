"""The last lines of the progress overview that the master role writes."""

from __future__ import annotations

import os

from runner.core.layout import JobFolder

LINES = 5
TAIL_BYTES = 4096


def last_overview_lines(folder: JobFolder, *, count: int = LINES) -> list[str]:
    """Return the last lines of the newest overview, oldest first; none before it exists."""
    newest = max(folder.logs.glob("job_progress_overview.2*.txt"), default=None)
    if newest is None:
        return []
    try:
        with newest.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    lines = tail.splitlines()
    whole = lines[1:] if size > TAIL_BYTES else lines
    return whole[-count:]
