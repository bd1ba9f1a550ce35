"""From what a person types for a job to its id."""

from __future__ import annotations

import re
from typing import Any

from prsweb.cli.client import ApiClient, ApiRefused, segment
from prsweb.cli.failure import CommandFailed

ID_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
PREFIX_PATTERN = re.compile(r"[0-9a-f][0-9a-f-]{3,35}")
SHOWN_AT_MOST = 10


class NoSuchJob(CommandFailed):
    def __init__(self, given: str) -> None:
        super().__init__(
            f"no job {given}: give its name, or at least 4 characters of its id "
            "(./prs jobs lists both)",
            code="not_found",
        )


class AmbiguousJob(CommandFailed):
    def __init__(self, given: str, jobs: list[dict[str, Any]]) -> None:
        shown = ", ".join(f"{job['id']} ({job['name']})" for job in jobs[:SHOWN_AT_MOST])
        more = f" and {len(jobs) - SHOWN_AT_MOST} more" if len(jobs) > SHOWN_AT_MOST else ""
        super().__init__(
            f"{given} begins the ids of {len(jobs)} jobs: {shown}{more}; give more of it",
            code="conflict",
        )


def find_job_id(client: ApiClient, given: str) -> str:
    """Return the id of the job that ``given`` means: a whole id, a unique beginning
    of at least 4 characters, or a name (its newest job).

    Raises NoSuchJob, AmbiguousJob.
    """
    text = given.strip().lower()
    if ID_PATTERN.fullmatch(text):
        return text
    may_be_id = bool(PREFIX_PATTERN.fullmatch(text))
    fitting: list[dict[str, Any]] = []
    named: dict[str, Any] | None = None
    for job in client.items("/jobs", q=given.strip()):
        if may_be_id and job["id"].startswith(text):
            fitting.append(job)
        if named is None and job["name"] == given.strip():
            named = job  # the list is newest first
            if not may_be_id:
                break
    if named is not None and len(fitting) != 1:
        return str(named["id"])
    if len(fitting) > 1:
        raise AmbiguousJob(given, fitting)
    if not fitting:
        raise NoSuchJob(given)
    return str(fitting[0]["id"])


def get_job(client: ApiClient, job_id: str) -> dict[str, Any]:
    """Return the job. Raises NoSuchJob."""
    try:
        job: dict[str, Any] = client.get(f"/jobs/{segment(job_id)}")
    except ApiRefused as refused:
        if refused.http_status == 404:
            raise NoSuchJob(job_id) from refused
        raise
    return job
