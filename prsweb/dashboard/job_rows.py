"""The rows and counters of the job list, for the page and for its stream."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from prsweb.accounts.models import User
from prsweb.dashboard.positions import current_position
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import job_counts, visible_jobs
from prsweb.jobs.selectors.node_counts import node_counts
from prsweb.jobs.selectors.progress import JobProgress, job_progress
from runner.core.redis_keys import ALL_EVENTS

ROWS_AT_ONCE = 100
FAILED_LATELY = timedelta(hours=24)
NOT_IN_ROWS = ("spec", "changes", "given_keys", "warnings", "outcome_facts")


@dataclass(frozen=True)
class JobRow:
    job: Job
    progress: JobProgress


@dataclass(frozen=True)
class ShownList:
    """Which jobs a list page shows, and when it was rendered."""

    shown: frozenset[str]  # job ids
    rendered_at: datetime

    @classmethod
    def of(cls, query: Mapping[str, str]) -> ShownList:
        """Return what ``ListMoment.stream_query`` described; what is malformed is left out."""
        ids = frozenset(filter(_is_job_id, query.get("rows", "").split(",")))
        try:
            at = parse_datetime(query.get("rendered_at", ""))
        except ValueError:
            at = None
        return cls(ids, at if at and timezone.is_aware(at) else timezone.now())


@dataclass(frozen=True)
class ListMoment:
    """Where a list page stands. Taken before its rows are read, so that its stream
    misses nothing that happens meanwhile."""

    position: str
    at: datetime

    @classmethod
    def now(cls) -> ListMoment:
        return cls(current_position(ALL_EVENTS), timezone.now())

    def stream_query(self, rows: list[JobRow]) -> dict[str, str]:
        """Return what the stream must be told."""
        shown = ",".join(row.job.job_id for row in rows)
        return {"at": self.position, "rows": shown, "rendered_at": self.at.isoformat()}


def job_row(job: Job) -> JobRow:
    return JobRow(job, job_progress(job))


def render_rows(user: User, job_ids: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Give id and HTML of each of these jobs that the viewer may see."""
    wanted = sorted(job_ids)[:ROWS_AT_ONCE]
    for job in visible_jobs(user).filter(uuid__in=wanted).defer(*NOT_IN_ROWS):
        yield job.job_id, render_to_string("dashboard/_job_row.html", {"row": job_row(job)})


def newer_jobs(user: User, shown: ShownList, job_ids: set[str]) -> set[str]:
    """Return which of these jobs came after the page was rendered."""
    wanted = sorted(filter(_is_job_id, job_ids))[:ROWS_AT_ONCE]
    jobs = visible_jobs(user).filter(uuid__in=wanted, submitted_at__gt=shown.rendered_at)
    return {str(found) for found in jobs.values_list("uuid", flat=True)}


def render_news(count: int) -> str:
    return render_to_string("dashboard/_jobs_news.html", {"new_count": count})


def render_counters(user: User) -> str:
    return render_to_string("dashboard/_jobs_counters.html", counters(user))


def counters(user: User) -> dict[str, Any]:
    failed_since = timezone.now() - FAILED_LATELY
    return {"counts": job_counts(user, failed_since=failed_since), "nodes": node_counts(user)}


def _is_job_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
