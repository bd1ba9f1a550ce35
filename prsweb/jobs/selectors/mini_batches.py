"""The mini-batches of a job, page by page, and one by itself. A million is a normal number."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from prsweb.jobs.filters import MiniBatchFilter, make_cursor, process_number, read_cursor
from prsweb.jobs.models import Job, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_index, mini_batch_key, process_key
from prsweb.jobs.selectors.mini_batch_views import (
    MiniBatchView,
    manifest_entries,
    node_names_by_index,
    recorded_views,
    running_now,
    unrecorded_views,
)
from prsweb.jobs.selectors.tries import TryView, mini_batch_tries
from runner.core.states import MiniBatchState

ITEM_NAMES = 50
# Mini-batches looked at in one query when those without a row are wanted.
WINDOW = 5_000
WALK_SECONDS = 1.0
_SORT_COLUMNS = {"run": "run_us", "tries": "tries"}


class NoSuchMiniBatch(Exception):
    """The job has no mini-batch of that number."""


@dataclass(frozen=True)
class MiniBatchDetail(MiniBatchView):
    item_names: tuple[str, ...]  # the first 50
    try_list: tuple[TryView, ...]  # newest first


@dataclass(frozen=True)
class MiniBatchPage:
    mini_batches: tuple[MiniBatchView, ...]
    next: str | None  # also when the time was up and the page is not full
    searched_to: int | None  # index; null: everything that could match was looked at


def mini_batch_page(job: Job, wanted: MiniBatchFilter) -> MiniBatchPage:
    """Return one page. Raises MalformedCursor.

    At most six queries; sorting by other than the number reads the job's rows once.
    """
    if wanted.wants_recorded_only:
        return _recorded_page(job, wanted)
    if wanted.state is None:
        return _page_by_number(job, wanted)
    return _unrecorded_page(job, wanted)


def mini_batch(job: Job, index: int) -> MiniBatchDetail:
    """Return mini-batch ``index``, or raise NoSuchMiniBatch."""
    if not 0 <= index < job.mini_batches_created:
        raise NoSuchMiniBatch(
            f"Job {job.job_id} has {job.mini_batches_created} mini-batches; "
            f"there is no {index}."
        )
    row = MiniBatch.objects.filter(key=mini_batch_key(job.pk, index)).first()
    views = recorded_views(job, [row]) if row else list(unrecorded_views(job, [index]))
    entries = manifest_entries(job, index, 1)
    return MiniBatchDetail(
        **asdict(views[0]),
        item_names=tuple(entries[0].item_names(ITEM_NAMES) if entries else ()),
        try_list=tuple(mini_batch_tries(job, index, row)),
    )


def _page_by_number(job: Job, wanted: MiniBatchFilter) -> MiniBatchPage:
    """Every mini-batch of a range of indexes, whatever its state."""
    is_down = wanted.sort.startswith("-")
    created = job.mini_batches_created
    start = read_cursor(wanted.after, int)[0] if wanted.after else None
    if is_down:
        end = created if start is None else max(0, min(start, created))
        first = max(0, end - wanted.limit)
    else:
        first = 0 if start is None else max(0, start + 1)
        end = min(created, first + wanted.limit)
    if first >= end:
        return MiniBatchPage((), None, None)

    rows = list(_rows(job, first, end).order_by("key"))
    views = {view.index: view for view in recorded_views(job, rows)}
    gaps = [index for index in range(first, end) if index not in views]
    views |= {view.index: view for view in unrecorded_views(job, gaps)}
    page = [views[index] for index in range(first, end)]
    if is_down:
        page.reverse()
    more = first > 0 if is_down else end < created
    return MiniBatchPage(tuple(page), make_cursor(page[-1].index) if more else None, None)


def _recorded_page(job: Job, wanted: MiniBatchFilter) -> MiniBatchPage:
    rows = MiniBatch.objects.of_job(job.pk)
    if wanted.state is not None:
        rows = rows.filter(state=MiniBatchState[wanted.state.upper()])
    if wanted.node or wanted.process:
        rows = rows.filter(_by_process(job, wanted))
    if wanted.error:
        tries = MiniBatchTry.objects.filter(
            error_group__job_id=job.pk, error_group__fingerprint=wanted.error
        )
        rows = rows.filter(key__in=tries.values("mini_batch"))
    if wanted.min_tries:
        rows = rows.filter(tries__gte=wanted.min_tries)

    is_down = wanted.sort.startswith("-")
    column = _SORT_COLUMNS.get(wanted.sort.lstrip("-"))
    beyond = "lt" if is_down else "gt"
    sign = "-" if is_down else ""
    # Equal values stand in the order of the keys, which is how rows are read: the
    # sorter of a million equal values then keeps the first ones and is done.
    order = [f"{sign}{column}", "key"] if column else [f"{sign}key"]
    if wanted.after and column:
        value, key = read_cursor(wanted.after, int, int)
        same = Q(**{column: value, "key__gt": key})
        rows = rows.filter(Q(**{f"{column}__{beyond}": value}) | same)
    elif wanted.after:
        (index,) = read_cursor(wanted.after, int)
        rows = rows.filter(**{f"key__{beyond}": mini_batch_key(job.pk, index)})
    found = list(rows.order_by(*order)[: wanted.limit + 1])
    page = found[: wanted.limit]
    cursor = None
    if len(found) > wanted.limit and column:
        cursor = make_cursor(getattr(page[-1], column), page[-1].key)
    elif len(found) > wanted.limit:
        cursor = make_cursor(mini_batch_index(page[-1].key))
    return MiniBatchPage(tuple(recorded_views(job, page)), cursor, None)


def _unrecorded_page(job: Job, wanted: MiniBatchFilter) -> MiniBatchPage:
    """Mini-batches without an outcome, in order of their numbers."""
    is_down = wanted.sort.startswith("-")
    start = read_cursor(wanted.after, int)[0] if wanted.after else None
    deadline = time.monotonic() + WALK_SECONDS
    page: list[MiniBatchView] = []
    for indexes, walked_to in _candidates(job, wanted.state, start, is_down):
        for view in unrecorded_views(job, indexes):
            if wanted.state not in ("unfinished", view.state):
                continue
            if len(page) == wanted.limit:
                return MiniBatchPage(tuple(page), make_cursor(page[-1].index), None)
            page.append(view)
        if time.monotonic() > deadline:
            return MiniBatchPage(tuple(page), make_cursor(walked_to), walked_to)
    return MiniBatchPage(tuple(page), None, None)


def _candidates(
    job: Job, state: str | None, start: int | None, is_down: bool
) -> Iterator[tuple[list[int], int]]:
    """Give indexes that may have the state, a window at a time, and the last index
    that was looked at. Running and retrying ones are known without a walk."""
    if state == "running":
        indexes = sorted(running_now(job), reverse=is_down)
        yield [index for index in indexes if _is_beyond(index, start, is_down)], 0
    elif state == "retrying":
        tries = MiniBatchTry.objects.filter(
            ~Exists(MiniBatch.objects.filter(key=OuterRef("mini_batch"))),
            mini_batch__gte=mini_batch_key(job.pk, 0),
            mini_batch__lt=mini_batch_key(job.pk + 1, 0),
        )
        keys = tries.order_by().values_list("mini_batch", flat=True).distinct()
        indexes = sorted((mini_batch_index(key) for key in keys), reverse=is_down)
        yield [index for index in indexes if _is_beyond(index, start, is_down)], 0
    else:
        yield from _gaps(job, start, is_down)


def _gaps(job: Job, start: int | None, is_down: bool) -> Iterator[tuple[list[int], int]]:
    created = job.mini_batches_created
    if is_down:
        end = created if start is None else min(start, created)
        windows = [(max(0, top - WINDOW), top) for top in range(end, 0, -WINDOW)]
    else:
        first = 0 if start is None else max(0, start + 1)
        windows = [(low, min(created, low + WINDOW)) for low in range(first, created, WINDOW)]
    for low, high in windows:
        rows = _rows(job, low, high)
        last = low if is_down else high - 1
        if rows.count() == high - low:  # cheaper than reading keys that all exist
            yield [], last
            continue
        there = {mini_batch_index(key) for key in rows.values_list("key", flat=True)}
        gaps = [index for index in range(low, high) if index not in there]
        yield (gaps[::-1] if is_down else gaps), last


def _is_beyond(index: int, start: int | None, is_down: bool) -> bool:
    return start is None or (index < start if is_down else index > start)


def _rows(job: Job, first: int, end: int) -> QuerySet[MiniBatch]:
    return MiniBatch.objects.filter(
        key__gte=mini_batch_key(job.pk, first), key__lt=mini_batch_key(job.pk, end)
    )


def _by_process(job: Job, wanted: MiniBatchFilter) -> Q:
    """The rows of a node, or of one process; of a process on every node."""
    indexes = [
        index for index, name in node_names_by_index(job).items() if wanted.node in (None, name)
    ]
    if wanted.process:
        number = process_number(wanted.process)
        return Q(process__in=[process_key(index, number) for index in indexes])
    match = Q(pk__in=[])
    for index in indexes:
        match |= Q(process__gte=process_key(index, 0), process__lt=process_key(index + 1, 0))
    return match
