"""Errors of a job by cause, the largest group first."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from prsweb.jobs.filters import ErrorFilter, make_cursor, read_cursor
from prsweb.jobs.models import ErrorGroup, Job


class NoSuchErrorGroup(Exception):
    """The job has no error of that fingerprint."""


@dataclass(frozen=True)
class ErrorPage:
    groups: tuple[ErrorGroup, ...]
    next: str | None


def top_error_groups(job: Job, *, limit: int = 3) -> list[ErrorGroup]:
    if not job.error_group_count:
        return []
    return list(_largest_first(job)[:limit])


def error_groups(job: Job, wanted: ErrorFilter) -> ErrorPage:
    groups = _largest_first(job)
    if wanted.kind:
        groups = groups.filter(kind=wanted.kind)
    if wanted.q:
        groups = groups.filter(Q(title__icontains=wanted.q) | Q(place__icontains=wanted.q))
    if wanted.after:
        count, key = read_cursor(wanted.after, int, int)
        groups = groups.filter(Q(count__lt=count) | Q(count=count, pk__gt=key))
    found = list(groups[: wanted.limit + 1])
    page = found[: wanted.limit]
    more = len(found) > wanted.limit
    return ErrorPage(tuple(page), make_cursor(page[-1].count, page[-1].pk) if more else None)


def error_group(job: Job, fingerprint: str) -> ErrorGroup:
    """Return the group, or raise NoSuchErrorGroup."""
    found = ErrorGroup.objects.filter(job_id=job.pk, fingerprint=fingerprint).first()
    if found is None:
        raise NoSuchErrorGroup(f"Job {job.job_id} has no error group {fingerprint}.")
    return found


def _largest_first(job: Job) -> QuerySet[ErrorGroup]:
    return ErrorGroup.objects.filter(job_id=job.pk).order_by("-count", "pk")
