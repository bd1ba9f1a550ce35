"""The rows of the job list, for the page and for its stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.template.loader import render_to_string

from prsweb.accounts.models import User
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import visible_jobs
from prsweb.jobs.selectors.progress import JobProgress, job_progress

ROWS_AT_ONCE = 100


@dataclass(frozen=True)
class JobRow:
    job: Job
    progress: JobProgress


def job_row(job: Job) -> JobRow:
    return JobRow(job, job_progress(job))


def render_changed_rows(
    user: User, query: Mapping[str, str], job_ids: set[str]
) -> Iterator[tuple[str, str]]:
    """Return element id and HTML of each of these jobs that the viewer may see.

    A row that is not on the page finds no element there and changes nothing.
    """
    shown = set(filter(None, query.get("rows", "").split(",")))
    wanted = sorted(job_ids & shown)[:ROWS_AT_ONCE]
    for job in (
        visible_jobs(user).filter(uuid__in=wanted).defer("spec", "changes", "given_keys")
    ):
        html = render_to_string("dashboard/_job_row.html", {"row": job_row(job)})
        yield f"job-{job.job_id}", html
