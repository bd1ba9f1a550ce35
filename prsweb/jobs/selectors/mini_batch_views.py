"""Mini-batches as they are shown: rows for those that have ended, the manifest for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Max

from prsweb.jobs.models import Job, JobNode, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_index, mini_batch_key, split_process_key
from prsweb.jobs.selectors.jobs import has_ended, job_folder
from prsweb.jobs.selectors.live import live_nodes
from runner.core.layout import process_name
from runner.core.manifest import ManifestEntry, ManifestReader
from runner.core.states import MiniBatchState


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
class RunningNow:
    node: str
    process: str
    since_at: datetime


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


def unrecorded_views(job: Job, indexes: Sequence[int]) -> Iterator[MiniBatchView]:
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
