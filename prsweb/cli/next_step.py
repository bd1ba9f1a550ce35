"""What to do after a job that failed, as its ``job_result.txt`` says."""

from __future__ import annotations

from typing import Any

from prsweb.cli.client import ApiClient, segment
from prsweb.cli.failure import CommandFailed

RESULT_FILE = "job_result.txt"
MARK = "What to do next: "


def read_next_step(client: ApiClient, job: dict[str, Any]) -> str | None:
    """Return the advice; None for a job that has none: it succeeded, goes on, or is of a
    kind without a result file."""
    if job["state"] != "FAILED":
        return None
    try:
        found = client.get(
            f"/jobs/{segment(str(job['id']))}/logs/range", path=RESULT_FILE, first=1, count=20
        )
    except CommandFailed:  # the advice comes on top; the job itself has been read
        return None
    lines = map(str, found["lines"])
    return next((line[len(MARK) :] for line in lines if line.startswith(MARK)), None)
