"""Everything that was tried with one mini-batch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prsweb.jobs.models import Job, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_key, split_process_key
from prsweb.jobs.selectors.mini_batch_views import from_microseconds, node_names_by_index
from runner.core.layout import process_name
from runner.core.states import MiniBatchState
from runner.core.wire_format import wire


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


def mini_batch_tries(job: Job, index: int, row: MiniBatch | None) -> list[TryView]:
    """Return the tries that have ended, newest first; ``row`` if it has its outcome."""
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
