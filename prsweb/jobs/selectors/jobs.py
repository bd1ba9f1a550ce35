"""Finding jobs. Everything that shows a job begins at ``visible_jobs``."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from prsweb.accounts.models import Role, User
from prsweb.jobs.filters import JobFilter, MalformedCursor, make_cursor, read_cursor
from prsweb.jobs.models import Job, JobEvent, JobNode
from runner.core.layout import JobFolder
from runner.core.states import ACTIVE_STATES, TERMINAL_STATES, WAITING_STATES, JobState

LEAST_ID_CHARACTERS = 4
_HEX = re.compile(r"[0-9a-f]+")
_LEFT_OUT_OF_LISTS = ("changes", "given_keys")


class NoSuchJob(Exception):
    """No job that the person may see. Says nothing about jobs they may not."""


class AmbiguousJob(Exception):
    """Several jobs begin like that."""

    def __init__(self, text: str, jobs: list[Job]) -> None:
        self.jobs = tuple(jobs)
        several = ", ".join(f"{job.job_id} ({job.name})" for job in jobs)
        super().__init__(f"{text} fits several jobs: {several}")


@dataclass(frozen=True)
class JobPage:
    jobs: tuple[Job, ...]
    next: str | None  # cursor


@dataclass(frozen=True)
class JobCounts:
    """The counters above the list."""

    running: int
    waiting: int
    failed_lately: int  # since the moment asked for


def visible_jobs(user: User) -> QuerySet[Job]:
    """Return the jobs that ``user`` may see: all that are not private, their own,
    and for operators and admins every one."""
    jobs = Job.objects.select_related("owner", "queue", "resubmitted_from", "reused_from")
    if user.role in (Role.OPERATOR, Role.ADMIN):
        return jobs
    return jobs.filter(Q(private=False) | Q(owner=user))


def get_job(user: User, job_id: str) -> Job:
    """Return the job with exactly that id, or raise NoSuchJob."""
    try:
        return visible_jobs(user).get(uuid=uuid.UUID(job_id))
    except (Job.DoesNotExist, ValueError):
        raise NoSuchJob(f"There is no job {job_id}.") from None


def find_job(user: User, text: str) -> Job:
    """Return the job that a person means: its id, a beginning of it of at least
    4 characters, or a name (the newest job called so).

    Raises NoSuchJob and AmbiguousJob.
    """
    jobs = visible_jobs(user)
    bounds = _id_bounds(text.lower())
    if bounds:
        found = list(jobs.filter(uuid__range=bounds).order_by("-number")[:10])
        if len(found) > 1:
            raise AmbiguousJob(text, found)
        if found:
            return found[0]
    named = jobs.filter(name=text).order_by("-number").first()
    if named is None:
        raise NoSuchJob(f"There is no job {text}.")
    return named


def job_list(user: User, wanted: JobFilter) -> JobPage:
    """Return one page of the jobs that match, and where the next one begins.

    Raises MalformedCursor.
    """
    is_newest_first = wanted.sort.startswith("-")
    jobs = matching_jobs(user, wanted).defer(*_LEFT_OUT_OF_LISTS)
    if wanted.after:
        at_text, number = read_cursor(wanted.after, str, int)
        at = _cursor_time(at_text)
        beyond = "lt" if is_newest_first else "gt"
        jobs = jobs.filter(
            Q(**{f"submitted_at__{beyond}": at})
            | Q(**{"submitted_at": at, f"number__{beyond}": number})
        )
    order = ("-submitted_at", "-number") if is_newest_first else ("submitted_at", "number")
    rows = list(jobs.order_by(*order)[: wanted.limit + 1])
    page = rows[: wanted.limit]
    more = len(rows) > wanted.limit
    last = page[-1] if page else None
    cursor = make_cursor(last.submitted_at.isoformat(), last.number) if more and last else None
    return JobPage(tuple(page), cursor)


def matching_jobs(user: User, wanted: JobFilter) -> QuerySet[Job]:
    """Return the visible jobs that the filter names, in no order."""
    jobs = visible_jobs(user)
    if wanted.owner:
        owner = user.get_username() if wanted.owner == "me" else wanted.owner
        jobs = jobs.filter(owner__username=owner)
    if wanted.kind:
        jobs = jobs.filter(kind__in=wanted.kind)
    if wanted.state:
        jobs = jobs.filter(state__in=wanted.state)
    if wanted.queue:
        jobs = jobs.filter(queue__name=wanted.queue)
    if wanted.tag:
        jobs = jobs.filter(pk__in=_tagged(wanted.tag))
    if wanted.since_at:
        jobs = jobs.filter(submitted_at__gte=wanted.since_at)
    if wanted.q:
        match = Q(name__icontains=wanted.q)
        if bounds := _id_bounds(wanted.q.lower()):
            match |= Q(uuid__range=bounds)
        jobs = jobs.filter(match)
    return jobs


def job_counts(user: User, *, failed_since: datetime) -> JobCounts:
    """Return the counters above the list. One query."""
    lately = Q(state=JobState.FAILED, ended_at__gte=failed_since)
    counts = visible_jobs(user).aggregate(
        running=Count("pk", filter=Q(state__in=ACTIVE_STATES)),
        waiting=Count("pk", filter=Q(state__in=WAITING_STATES)),
        failed_lately=Count("pk", filter=lately),
    )
    return JobCounts(**counts)


def recent_events(job: Job, *, limit: int = 20) -> QuerySet[JobEvent]:
    """Newest first."""
    return JobEvent.objects.filter(job_id=job.pk).order_by("-at", "-pk")[:limit]


def node_names(jobs: list[Job]) -> dict[int, list[str]]:
    """Return by job number the names of its nodes, in the order of their indexes.

    A node that was granted twice is named once. One query for all jobs.
    """
    rows = JobNode.objects.filter(job__in=[job.pk for job in jobs])
    names: dict[int, dict[str, None]] = {job.pk: {} for job in jobs}
    ordered = rows.order_by("index", "assignment").values_list("job_id", "node_name")
    for number, name in ordered:
        names[number][name] = None
    return {number: list(found) for number, found in names.items()}


def job_folder(job: Job) -> JobFolder:
    return settings.PRSWEB_HOME.job(job.job_id)


def has_ended(job: Job) -> bool:
    return JobState(job.state) in TERMINAL_STATES


def is_cancelling(job: Job) -> bool:
    """A cancel was ordered, and something of the job is left."""
    return job.cancel_requested_at is not None and not has_ended(job)


def _tagged(tag: str) -> QuerySet[Job, Any]:
    name, separator, value = tag.partition("=")
    tagged = Job.objects.filter(tags__has_key=name)
    if separator:
        # KeyTransform takes the name as it is; in a keyword "__" would mean something.
        text = Cast(KeyTextTransform(name, "tags"), TextField())
        tagged = tagged.annotate(tag_value=text).filter(tag_value=value)
    return tagged.values("pk")


def _id_bounds(text: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """Return the least and the greatest id that begin with ``text``, if it can
    begin one: both databases compare ids as their digits."""
    digits = text.replace("-", "")
    if not (LEAST_ID_CHARACTERS <= len(digits) <= 32 and _HEX.fullmatch(digits)):
        return None
    least = _filled(digits, "0")
    if not str(least).startswith(text):  # hyphens elsewhere: a name, not an id
        return None
    return least, _filled(digits, "f")


def _filled(digits: str, digit: str) -> uuid.UUID:
    return uuid.UUID(digits.ljust(32, digit))


def _cursor_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise MalformedCursor("must be the 'next' of an earlier answer") from None
