"""What happened to a job."""

from __future__ import annotations

from dataclasses import dataclass

from prsweb.jobs.filters import Filter, make_cursor, read_cursor
from prsweb.jobs.models import Job, JobEvent


@dataclass(frozen=True)
class EventPage:
    events: tuple[JobEvent, ...]  # newest first
    next: str | None


def job_events(job: Job, wanted: Filter) -> EventPage:
    """Return one page. Events are written once and in order, so their keys are too."""
    rows = JobEvent.objects.filter(job_id=job.pk).order_by("-pk")
    if wanted.after:
        (key,) = read_cursor(wanted.after, int)
        rows = rows.filter(pk__lt=key)
    found = list(rows[: wanted.limit + 1])
    page = found[: wanted.limit]
    cursor = make_cursor(page[-1].pk) if len(found) > wanted.limit else None
    return EventPage(tuple(page), cursor)
