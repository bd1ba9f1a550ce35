"""One mini-batch: its items and everything that was tried."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prsweb.jobs.filters import MiniBatchFilter, make_cursor
from prsweb.jobs.models import Job, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_key, split_process_key
from prsweb.jobs.selectors.mini_batches import (
    MiniBatchView,
    from_microseconds,
    manifest_entries,
    mini_batch_list,
    node_names_by_index,
    recorded_views,
)
from runner.core.layout import process_name
from runner.core.states import MiniBatchState
from runner.core.wire_format import wire

ITEM_NAMES = 50


class NoSuchMiniBatch(Exception):
    """The job has no mini-batch of that number."""


@dataclass(frozen=True)
class TryView:
    number: int
    node: str
    process: str
    status: str  # a word of processed_mini-batches.csv
    started_at: datetime
    duration_seconds: float  # from pick to recorded write
    process_seconds: float  # inside the process: load, run, write
    run_seconds: float
    error: str | None  # one line
    error_group: str | None  # fingerprint


@dataclass(frozen=True)
class MiniBatchDetail:
    mini_batch: MiniBatchView
    item_names: tuple[str, ...]  # the first 50
    tries: tuple[TryView, ...]  # newest first


def mini_batch_detail(job: Job, index: int) -> MiniBatchDetail:
    """Return mini-batch ``index``, or raise NoSuchMiniBatch."""
    if not 0 <= index < job.mini_batches_created:
        raise NoSuchMiniBatch(
            f"Job {job.job_id} has {job.mini_batches_created} mini-batches; "
            f"there is no {index}."
        )
    row = MiniBatch.objects.filter(key=mini_batch_key(job.pk, index)).first()
    view = recorded_views(job, [row])[0] if row else _unrecorded(job, index)
    entries = manifest_entries(job, index, 1)
    names = entries[0].item_names(ITEM_NAMES) if entries else []
    return MiniBatchDetail(view, tuple(names), tuple(_tries(job, index, row)))


def _unrecorded(job: Job, index: int) -> MiniBatchView:
    after = make_cursor(index - 1)
    page = mini_batch_list(job, MiniBatchFilter.model_validate({"after": after, "limit": 1}))
    return page.mini_batches[0]


def _tries(job: Job, index: int, row: MiniBatch | None) -> list[TryView]:
    names = node_names_by_index(job)
    rows = MiniBatchTry.objects.filter(mini_batch=mini_batch_key(job.pk, index))
    tries = {
        one.number: _try(names, one.number, one)
        for one in rows.select_related("error_group").order_by("-number")
    }
    # A success has no row of its own beside that of the mini-batch.
    if row is not None and row.tries not in tries:
        tries[row.tries] = _try(names, row.tries, row)
    return [tries[number] for number in sorted(tries, reverse=True)]


def _try(names: dict[int, str], number: int, row: MiniBatch | MiniBatchTry) -> TryView:
    node_index, process = split_process_key(row.process)
    error, group = None, None
    if isinstance(row, MiniBatchTry):
        error = row.error or None
        group = row.error_group.fingerprint if row.error_group else None
    elif row.state == MiniBatchState.PARTIAL:
        error = f"run() returned {row.results} results for {row.items} items"
    return TryView(
        number=number,
        node=names.get(node_index, str(node_index)),
        process=process_name(process),
        status=wire.STATUS_NAMES[row.status],
        started_at=from_microseconds(row.started_us),
        duration_seconds=row.total_us / 1e6,
        process_seconds=row.total_us / 1e6,
        run_seconds=row.run_us / 1e6,
        error=error,
        error_group=group,
    )
