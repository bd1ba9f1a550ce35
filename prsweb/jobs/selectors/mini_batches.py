"""The mini-batches of a job: rows for those that have ended, the manifest for the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from prsweb.jobs.filters import MiniBatchFilter, make_cursor, process_number, read_cursor
from prsweb.jobs.models import Job, JobNode, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import (
    mini_batch_index,
    mini_batch_key,
    process_key,
    split_process_key,
)
from prsweb.jobs.selectors.jobs import has_ended, job_folder
from prsweb.jobs.selectors.live import live_nodes
from runner.core.layout import process_name
from runner.core.manifest import ManifestEntry, ManifestReader
from runner.core.states import MiniBatchState

# Mini-batches looked at in one query when those without a row are wanted.
WINDOW = 5_000
WALK_SECONDS = 1.0
_SORT_COLUMNS = {"run": "run_us", "tries": "tries"}


@dataclass(frozen=True)
class MiniBatchView:
    index: int
    state: str  # MiniBatchState.word
    items: int | None  # null: not known before it is loaded
    succeeded: int | None
    failed: int | None
    tries: int  # tries that have ended
    node: str | None
    process: str | None
    started_at: datetime | None
    ended_at: datetime | None
    wait_seconds: float | None
    load_seconds: float | None
    run_seconds: float | None
    total_seconds: float | None
    output_length: int | None  # bytes in the segment
    reason: str | None  # one line
    error: str | None  # fingerprint of its error group


@dataclass(frozen=True)
class MiniBatchPage:
    mini_batches: tuple[MiniBatchView, ...]
    next: str | None  # also when the time was up and the page is not full
    searched_to: int | None  # index; null: everything that could match was looked at


@dataclass(frozen=True)
class RunningNow:
    node: str
    process: str
    since_at: datetime


def mini_batch_list(job: Job, wanted: MiniBatchFilter) -> MiniBatchPage:
    """Return one page. Raises MalformedCursor.

    At most six queries; sorting by other than the number reads the job's rows once.
    """
    if wanted.wants_recorded_only:
        return _recorded_page(job, wanted)
    if wanted.state is None:
        return _page_by_number(job, wanted)
    return _unrecorded_page(job, wanted)


def running_now(job: Job) -> dict[int, RunningNow]:
    """Return which mini-batch runs where, by index, as the nodes last said."""
    if has_ended(job):
        return {}
    names = JobNode.objects.filter(job_id=job.pk, released_at=None)
    live = live_nodes(job.job_id, names.values_list("node_name", flat=True))
    return {
        process.mini_batch: RunningNow(
            node.node_name,
            process_name(process.number),
            datetime.fromtimestamp(node.at - process.since_seconds, UTC),
        )
        for node in live.values()
        for process in node.processes
        if process.mini_batch is not None and process.phase in ("load", "run", "write")
    }


def recorded_views(job: Job, rows: Sequence[MiniBatch]) -> list[MiniBatchView]:
    """Return rows as they are shown. Two queries for all of them."""
    names = node_names_by_index(job)
    failed = [row.key for row in rows if row.state == MiniBatchState.FAILED]
    last_tries = {
        (one.mini_batch, one.number): one
        for one in MiniBatchTry.objects.filter(mini_batch__in=failed).select_related(
            "error_group"
        )
    }
    return [_view(row, names, last_tries.get((row.key, row.tries))) for row in rows]


def node_names_by_index(job: Job) -> dict[int, str]:
    rows = JobNode.objects.filter(job_id=job.pk).order_by("assignment")
    return dict(rows.values_list("index", "node_name"))


def manifest_entries(job: Job, first: int, count: int) -> list[ManifestEntry]:
    """Return the entries of the manifest; none before it exists, or once it is removed."""
    try:
        with ManifestReader(job_folder(job)) as manifest:
            return manifest.read_range(first, count)
    except FileNotFoundError:
        return []


# --- pages ---------------------------------------------------------------------


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
    views |= {view.index: view for view in _unrecorded_views(job, gaps)}
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
    if wanted.after and column:
        value, key = read_cursor(wanted.after, int, int)
        same = Q(**{column: value, f"key__{beyond}": key})
        rows = rows.filter(Q(**{f"{column}__{beyond}": value}) | same)
    elif wanted.after:
        (index,) = read_cursor(wanted.after, int)
        rows = rows.filter(**{f"key__{beyond}": mini_batch_key(job.pk, index)})
    order = [f"{sign}{column}"] if column else []
    found = list(rows.order_by(*order, f"{sign}key")[: wanted.limit + 1])
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
        for view in _unrecorded_views(job, indexes):
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


# --- views ---------------------------------------------------------------------


def _unrecorded_views(job: Job, indexes: Sequence[int]) -> Iterator[MiniBatchView]:
    """Give the views of mini-batches without a row, in the given order."""
    if not indexes:
        return
    running = running_now(job)
    low, high = min(indexes), max(indexes)
    tried = MiniBatchTry.objects.filter(
        mini_batch__range=(mini_batch_key(job.pk, low), mini_batch_key(job.pk, high))
    )
    tries = dict(tried.order_by().values_list("mini_batch").annotate(newest=Max("number")))
    entries = {entry.index: entry for entry in manifest_entries(job, low, high - low + 1)}
    ended = has_ended(job)
    for index in indexes:
        count = tries.get(mini_batch_key(job.pk, index), 0)
        entry = entries.get(index)
        view = MiniBatchView(
            index=index,
            state=_unrecorded_state(ended, index in running, count),
            items=entry.item_count if entry else None,
            succeeded=None,
            failed=None,
            tries=count,
            node=None,
            process=None,
            started_at=None,
            ended_at=None,
            wait_seconds=None,
            load_seconds=None,
            run_seconds=None,
            total_seconds=None,
            output_length=None,
            reason=None,
            error=None,
        )
        if index in running and not ended:
            now = running[index]
            view = replace(view, node=now.node, process=now.process, started_at=now.since_at)
        yield view


def _unrecorded_state(ended: bool, is_running: bool, tries: int) -> str:
    if ended:
        return MiniBatchState.NOT_RUN.word
    if is_running:
        return MiniBatchState.RUNNING.word
    return (MiniBatchState.RETRYING if tries else MiniBatchState.WAITING).word


def _view(row: MiniBatch, names: dict[int, str], last: MiniBatchTry | None) -> MiniBatchView:
    node_index, number = split_process_key(row.process)
    started_at = from_microseconds(row.started_us)
    return MiniBatchView(
        index=mini_batch_index(row.key),
        state=MiniBatchState(row.state).word,
        items=row.items,
        succeeded=row.succeeded,
        failed=row.items - row.succeeded,
        tries=row.tries,
        node=names.get(node_index, str(node_index)),
        process=process_name(number),
        started_at=started_at,
        ended_at=started_at + timedelta(microseconds=row.total_us),
        wait_seconds=row.wait_us / 1e6,
        load_seconds=row.load_us / 1e6,
        run_seconds=row.run_us / 1e6,
        total_seconds=row.total_us / 1e6,
        output_length=row.length,
        reason=_reason(row, last),
        error=last.error_group.fingerprint if last and last.error_group else None,
    )


def _reason(row: MiniBatch, last: MiniBatchTry | None) -> str | None:
    if row.state == MiniBatchState.PARTIAL:
        return f"run() returned {row.results} results for {row.items} items"
    if row.state == MiniBatchState.FAILED:
        return last.error if last else None
    if row.results > row.items:
        return f"run() returned {row.results} results for {row.items} items"
    return None


def from_microseconds(at_us: int) -> datetime:
    return datetime.fromtimestamp(at_us / 1e6, UTC)
