"""``process_summary.csv`` and ``node_summary.csv``, counted by the database at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection

from prsweb.jobs.models import Job, JobNode, JobProcess, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_key, process_key
from runner.core import job_log_texts as texts
from runner.core.layout import process_name
from runner.core.states import MiniBatchState


@dataclass
class Sums:
    """What the mini-batches of one process come to."""

    picked: int = 0  # tries
    succeeded: int = 0
    partial: int = 0
    failed: int = 0
    items: int = 0
    items_succeeded: int = 0
    load_us: int = 0
    run_us: int = 0

    def add(self, other: Sums) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def columns(self) -> list[object]:
        return [
            self.picked,
            self.succeeded,
            self.partial,
            self.failed,
            self.items,
            self.items_succeeded,
            self.items - self.items_succeeded,
            f"{(self.load_us + self.run_us) / 1e6:.6f}",
            f"{self.run_us / 1e6:.6f}",
        ]


def process_summary(job: Job) -> str:
    """Return the table of the processes, also of those that did nothing."""
    sums = _sums_by_process(job)
    lines = [texts.PROCESS_COLUMNS]
    for process in JobProcess.objects.filter(job=job).order_by("node_index", "number"):
        mine = sums[process_key(process.node_index, process.number)]
        lines.append(
            texts.csv_line(
                [
                    process.node_name,
                    process_name(process.number),
                    process.pid,
                    texts.report_time(process.started_at),
                    texts.report_time(process.ended_at) if process.ended_at else None,
                    process.end or None,
                    *mine.columns(),
                ]
            )
        )
    return "".join(lines)


def node_summary(job: Job) -> str:
    """Return the table of the nodes, one line each however often it was granted."""
    by_process, by_node = _sums_by_process(job), defaultdict[int, Sums](Sums)
    counts: dict[int, int] = defaultdict(int)
    for index, number in JobProcess.objects.filter(job=job).values_list("node_index", "number"):
        by_node[index].add(by_process[process_key(index, number)])
        counts[index] += 1
    lines = [texts.NODE_COLUMNS]
    for parts in _parts_by_index(JobNode.objects.filter(job=job).order_by("index", "pk")):
        first, last = parts[0], parts[-1]
        lines.append(
            texts.csv_line(
                [
                    first.node_name,
                    counts[first.index],
                    texts.report_time(first.granted_at),
                    texts.report_time(last.ended_at) if last.ended_at else None,
                    last.state_reason or None,
                    *by_node[first.index].columns(),
                ]
            )
        )
    return "".join(lines)


def _parts_by_index(rows: Iterable[JobNode]) -> list[Sequence[JobNode]]:
    found: dict[int, list[JobNode]] = {}
    for row in rows:
        found.setdefault(row.index, []).append(row)
    return list(found.values())


def _sums_by_process(job: Job) -> dict[int, Sums]:
    table, tries = MiniBatch._meta.db_table, MiniBatchTry._meta.db_table
    bounds = [mini_batch_key(job.pk, 0), mini_batch_key(job.pk + 1, 0)]
    sums: dict[int, Sums] = defaultdict(Sums)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT process, state, COUNT(*), SUM(items), SUM(succeeded), SUM(load_us),"
            f' SUM(run_us) FROM {table} WHERE "key" >= %s AND "key" < %s'
            " GROUP BY process, state",
            bounds,
        )
        for process, state, count, items, succeeded, load_us, run_us in cursor.fetchall():
            sums[process].add(_outcomes(state, count, items, succeeded, load_us, run_us))
        cursor.execute(
            # A failed try that decided its mini-batch stands in both tables.
            f"SELECT process, COUNT(*) FROM {tries} WHERE mini_batch >= %s AND mini_batch < %s"
            f' AND NOT EXISTS (SELECT 1 FROM {table} WHERE "key" = mini_batch'
            f" AND {table}.tries = {tries}.number AND {table}.process = {tries}.process)"
            " GROUP BY process",
            bounds,
        )
        for process, count in cursor.fetchall():
            sums[process].picked += count
    return sums


def _outcomes(
    state: int, count: int, items: int, succeeded: int, load_us: int, run_us: int
) -> Sums:
    return Sums(
        picked=count,
        succeeded=count if state == MiniBatchState.SUCCEEDED else 0,
        partial=count if state == MiniBatchState.PARTIAL else 0,
        failed=count if state == MiniBatchState.FAILED else 0,
        items=items,
        items_succeeded=succeeded,
        load_us=load_us,
        run_us=run_us,
    )
