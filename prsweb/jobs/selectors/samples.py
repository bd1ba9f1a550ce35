"""Resource samples as series for charts, put into buckets by the database."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from django.db.models import Avg, ExpressionWrapper, F, IntegerField, Max, Min, QuerySet
from django.db.models.functions import Floor

from prsweb.jobs.filters import SampleQuery, moment, process_number
from prsweb.jobs.models import Job, JobNode, Sample
from runner.core.layout import process_name

SERIES_LIMIT = 64
ALL_PROCESSES = "all"

# metric -> (column, unit, counted since the start: shown as a rate)
METRICS: dict[str, tuple[str, str, bool]] = {
    "cpu": ("cpu_percent", "percent of one CPU", False),
    "memory": ("rss_bytes", "bytes", False),
    "own": ("own_bytes", "bytes", False),
    "threads": ("thread_count", "threads", False),
    "read": ("read_bytes", "bytes per second", True),
    "written": ("written_bytes", "bytes per second", True),
    "sent": ("sent_bytes", "bytes per second", True),
    "received": ("received_bytes", "bytes per second", True),
    "open_files": ("open_file_count", "files", False),
}


class NoSuchProcess(Exception):
    """The job has no such node or process."""


@dataclass(frozen=True)
class Series:
    """One line of a chart; a bucket without a sample is left out."""

    node: str
    process: str | None  # null: the node itself
    at: tuple[datetime, ...]  # middle of each bucket
    mean: tuple[float, ...]
    max: tuple[float, ...]


@dataclass(frozen=True)
class Samples:
    metric: str
    unit: str
    bucket_seconds: float
    series: tuple[Series, ...]  # at most 64, those with the greatest peaks
    left_out: int  # series beyond those


@dataclass(frozen=True)
class _Window:
    start_ms: int
    bucket_ms: int
    is_counter: bool

    @property
    def bucket_seconds(self) -> float:
        return self.bucket_ms / 1000

    def middle_of(self, bucket: int) -> datetime:
        return datetime.fromtimestamp(
            (self.start_ms + (bucket + 0.5) * self.bucket_ms) / 1000, UTC
        )


def job_samples(job: Job, query: SampleQuery) -> Samples:
    """Return the metric over time: mean and maximum of at most ``points`` buckets,
    so that a short peak survives. Three queries, whatever the number of samples.

    Raises NoSuchProcess. A job without samples has no series.
    """
    column, unit, is_counter = METRICS[query.metric]
    names = dict(
        JobNode.objects.filter(job_id=job.pk)
        .order_by("assignment")
        .values_list("index", "node_name")
    )
    rows = _wanted(job, query, names).filter(**{f"{column}__isnull": False})
    span = rows.aggregate(first=Min("at_ms"), last=Max("at_ms"))
    if span["first"] is None:
        return Samples(query.metric, unit, 0.0, (), 0)
    bucket_ms = max(1, math.ceil((span["last"] - span["first"] + 1) / query.points))
    window = _Window(span["first"], bucket_ms, is_counter)

    points: dict[tuple[int, int | None], list[tuple[int, float, float]]] = {}
    for node_index, process, bucket, mean, peak in _buckets(rows, column, window):
        points.setdefault((node_index, process), []).append((bucket, mean, peak))
    series = [
        _series(names.get(node_index, str(node_index)), process, found, window)
        for (node_index, process), found in points.items()
    ]
    # All lines of the most telling ones, then back in the order of the tables.
    kept = sorted(series, key=lambda one: -max(one.max, default=0.0))[:SERIES_LIMIT]
    kept.sort(key=lambda one: (len(one.node), one.node, one.process or ""))
    return Samples(
        query.metric, unit, window.bucket_seconds, tuple(kept), len(series) - len(kept)
    )


def _wanted(job: Job, query: SampleQuery, names: dict[int, str]) -> QuerySet[Sample]:
    rows = Sample.objects.filter(job_id=job.pk)
    if query.start:
        rows = rows.filter(at_ms__gte=_milliseconds(query.start))
    if query.end:
        rows = rows.filter(at_ms__lte=_milliseconds(query.end))
    if query.process is None:
        return rows.filter(process=None)
    rows = rows.filter(process__isnull=False)
    if query.process == ALL_PROCESSES:
        return rows
    node, separator, process = query.process.partition("/")
    indexes = [index for index, name in names.items() if name == node]
    if not indexes:
        raise NoSuchProcess(f"Job {job.job_id} has no node {node!r}.")
    rows = rows.filter(node_index__in=indexes)
    if not separator:
        return rows
    try:
        return rows.filter(process=process_number(process))
    except ValueError as error:
        raise NoSuchProcess(f"process: {error}") from None


def _buckets(
    rows: QuerySet[Sample], column: str, window: _Window
) -> QuerySet[Sample, tuple[int, int | None, int, float, float]]:
    # Whole milliseconds: both databases divide integers downwards.
    bucket = ExpressionWrapper(
        Floor((F("at_ms") - window.start_ms) / window.bucket_ms),
        output_field=IntegerField(),
    )
    return (
        rows.annotate(bucket=bucket)
        .values("node_index", "process", "bucket")
        .annotate(mean=Avg(column), peak=Max(column))
        .order_by("node_index", "process", "bucket")
        .values_list("node_index", "process", "bucket", "mean", "peak")
    )


def _series(
    node: str,
    process: int | None,
    points: list[tuple[int, float, float]],
    window: _Window,
) -> Series:
    if window.is_counter:
        points = _rates(points, window.bucket_seconds)
    return Series(
        node=node,
        process=None if process is None else process_name(process),
        at=tuple(window.middle_of(bucket) for bucket, _, _ in points),
        mean=tuple(round(mean, 3) for _, mean, _ in points),
        max=tuple(round(float(peak), 3) for _, _, peak in points),
    )


def _rates(
    points: list[tuple[int, float, float]], bucket_seconds: float
) -> list[tuple[int, float, float]]:
    """Turn a count since the start into a rate between neighbouring buckets.

    A count that falls back is a process that began anew: it shows as 0.
    """
    rates = []
    for (before, _, low), (bucket, _, high) in pairwise(points):
        rate = max(0.0, high - low) / ((bucket - before) * bucket_seconds)
        rates.append((bucket, rate, rate))
    return rates


def _milliseconds(text: str) -> int:
    return int(moment(text).timestamp() * 1000)
