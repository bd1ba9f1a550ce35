"""Write what nodes and worker processes report about themselves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from prsweb.jobs.models import (
    Job,
    JobEvent,
    JobMetric,
    JobNode,
    JobProcess,
    Node,
    Sample,
)
from prsweb.jobs.transitions import move_job_node
from runner.core.messages import ProcessEnded, ProcessStarted, SamplesTaken
from runner.core.states import ENDED_JOB_NODE_STATES, JobNodeState

MOST_WARNINGS = 100
SAMPLE_COLUMNS = (
    "process",
    "cpu_percent",
    "rss_bytes",
    "own_bytes",
    "thread_count",
    "read_bytes",
    "written_bytes",
    "sent_bytes",
    "received_bytes",
    "open_file_count",
)


def at_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def find_live_nodes(job: Job) -> list[JobNode]:
    """Return the parts of nodes that have not ended, first granted first."""
    rows = JobNode.objects.filter(job=job, attempt=job.attempt)
    return list(rows.exclude(state__in=ENDED_JOB_NODE_STATES).order_by("assignment"))


def note_event(job: Job, kind: str, reason: str, *, actor: str = "master role") -> None:
    JobEvent.objects.create(job=job, at=timezone.now(), kind=kind, actor=actor, reason=reason)


def start_process(job: Job, job_node: JobNode, report: ProcessStarted) -> bool:
    """Add the worker process; False if it was told before."""
    _, is_new = JobProcess.objects.get_or_create(
        job=job,
        node_index=job_node.index,
        number=report.process,
        defaults={
            "assignment": job_node.assignment,
            "node_name": job_node.node_name,
            "pid": report.pid,
            "segment": report.segment,
            "gpu": report.gpu,
            "started_at": at_time(report.at),
        },
    )
    if job_node.state == JobNodeState.STARTING:
        reason = f"process{report.process:03d} was started"
        move_job_node(
            job_node, JobNodeState.RUNNING, reason=reason, started_at=at_time(report.at)
        )
    return is_new


def note_process_ready(job: Job, *, node_index: int, number: int, at: float) -> bool:
    """Note that init() has returned; False if it was told before."""
    process = _process(job, node_index, number).filter(ready_at=None)
    return process.update(ready_at=at_time(at)) == 1


def end_process(job: Job, report: ProcessEnded) -> bool:
    """Note the end of a worker process; False if it was told before."""
    process = _process(job, report.node_index, report.process).filter(ended_at=None)
    return (
        process.update(
            ended_at=at_time(report.at),
            end=report.end[:200],
            expected_end=report.expected,
            peak_rss_bytes=report.peak_rss_bytes,
        )
        == 1
    )


def _process(job: Job, node_index: int, number: int) -> Any:
    return JobProcess.objects.filter(job=job, node_index=node_index, number=number)


@transaction.atomic
def end_job_node(job_node: JobNode, target: JobNodeState, *, reason: str) -> None:
    """End a node's part in the job and free the node."""
    now = timezone.now()
    move_job_node(job_node, target, reason=reason, ended_at=now, released_at=now)
    JobProcess.objects.filter(
        job_id=job_node.job_id, assignment=job_node.assignment, ended_at=None
    ).update(ended_at=now, end=reason[:200])
    Node.objects.filter(name=job_node.node_name, job_id=job_node.job_id).update(job=None)


def add_samples(job: Job, report: SamplesTaken) -> int:
    """Add the readings of one moment; 0 if they were told before."""
    at_ms = int(report.at * 1000)
    known = Sample.objects.filter(job=job, at_ms=at_ms, node_index=report.node_index)
    if known.exists():
        return 0
    rows = [
        Sample(
            job=job,
            at_ms=at_ms,
            node_index=report.node_index,
            **dict(zip(SAMPLE_COLUMNS, row, strict=False)),
        )
        for row in report.rows
    ]
    Sample.objects.bulk_create(rows)
    return len(rows)


def add_metric(job: Job, *, name: str, value: Any, at: float) -> None:
    """Keep a value the script logged; once, however often it is told."""
    known = JobMetric.objects.filter(job=job, at=at_time(at), name=name[:200])
    if not known.exists():
        JobMetric.objects.create(job=job, at=at_time(at), name=name[:200], value=value)


def add_warnings(job: Job, sentences: Iterable[str]) -> None:
    """Add sentences to the job's warnings, each once and no more than 100."""
    fresh = [one for one in dict.fromkeys(sentences) if one not in job.warnings]
    room = MOST_WARNINGS - len(job.warnings)
    if not fresh or room <= 0:
        return
    added = fresh[:room]
    if len(job.warnings) + len(added) == MOST_WARNINGS:
        added[-1] = "further warnings are in the logs of the processes"
    job.warnings = [*job.warnings, *added]
    Job.objects.filter(pk=job.pk).update(warnings=job.warnings)
