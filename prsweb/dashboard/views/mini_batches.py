"""The mini-batches of a job: the table, and one by itself."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.filters import MiniBatchFilter, tolerant
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.mini_batches import NoSuchMiniBatch, mini_batch
from prsweb.jobs.selectors.progress import JobProgress, job_progress
from prsweb.jobs.selectors.tries import TryView
from prsweb.jobs.selectors.try_logs import LogPlace, try_log_places

STATES = ("waiting", "running", "retrying", "succeeded", "partial", "failed", "not_run")
SORTS = (("", "Number"), ("-run", "Longest run first"), ("-tries", "Most tries first"))


@dataclass(frozen=True)
class Choice:
    """One state to filter by."""

    state: str  # "" for all
    count: int
    query: str
    is_current: bool


@dataclass(frozen=True)
class TryRow:
    one: TryView
    places: tuple[LogPlace, ...]


@require_GET
@with_job
def table(request: HttpRequest, job: Job) -> HttpResponse:
    wanted, _ = tolerant(MiniBatchFilter, request.GET.dict())
    context = {
        "choices": _choices(wanted, job_progress(job)),
        "sorts": [
            (word, urlencode(wanted.query(sort=sort)), wanted.sort == (sort or "number"))
            for sort, word in SORTS
        ],
        "narrowed": _narrowed(wanted),
    }
    return job_page(request, job, "mini-batches", "dashboard/mini_batches.html", context)


@require_GET
@with_job
def one(request: HttpRequest, job: Job, index: int) -> HttpResponse:
    try:
        found = mini_batch(job, index)
    except NoSuchMiniBatch as missing:
        raise Http404(str(missing)) from None
    places = try_log_places(job, index, found.try_list)
    context = {
        "mini_batch": found,
        "tries": [TryRow(one, tuple(places.get(one.number, ()))) for one in found.try_list],
        "previous": index - 1 if index else None,
        "following": index + 1 if index + 1 < job.mini_batches_created else None,
    }
    return job_page(request, job, "mini-batch", "dashboard/mini_batch.html", context)


def _choices(wanted: MiniBatchFilter, progress: JobProgress) -> list[Choice]:
    choices = [_choice(wanted, "", progress.created)]
    choices += [_choice(wanted, state, getattr(progress, state)) for state in STATES]
    return [one for one in choices if one.count or one.is_current or not one.state]


def _choice(wanted: MiniBatchFilter, state: str, count: int) -> Choice:
    query = urlencode(wanted.query(state=state or None))
    return Choice(state, count, query, (wanted.state or "") == state)


def _narrowed(wanted: MiniBatchFilter) -> list[tuple[str, str]]:
    """Return what else narrows the table, in words, and the query without it."""
    words = {
        "node": f"on node {wanted.node}",
        "process": f"in {wanted.process}",
        "error": f"with error {wanted.error}",
        "min_tries": f"at least {wanted.min_tries} tries",
    }
    return [
        (sentence, urlencode(wanted.query(**{name: None})))
        for name, sentence in words.items()
        if getattr(wanted, name)
    ]
