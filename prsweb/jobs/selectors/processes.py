"""The worker processes of a job: rows, with what each does now laid over them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prsweb.jobs.models import Job, JobNode, JobProcess
from prsweb.jobs.selectors.jobs import has_ended
from prsweb.jobs.selectors.live import live_nodes
from runner.core.layout import process_name
from runner.core.messages import LiveNode, LiveProcess
from runner.core.states import JobNodeState

# More processes than this are shown as one cell per node.
STRIP_CELLS = 400


@dataclass(frozen=True)
class ProcessView:
    name: str  # "n2/process005"
    node: str
    node_index: int
    number: int
    pid: int | None
    state: str  # a phase of the worker process, or ended, died, lost
    mini_batch: int | None
    since_at: datetime | None  # in this state
    done: int | None  # mini-batches so far; null once only Redis knew it
    rss_bytes: int | None
    gpu: int | None
    ended: str | None  # how, in words
    started_at: datetime
    ended_at: datetime | None


def job_processes(job: Job, *, node: str | None = None) -> list[ProcessView]:
    """Return the processes by node index and number. Two queries, one trip to Redis."""
    rows = JobProcess.objects.filter(job_id=job.pk).order_by("node_index", "number")
    if node:
        rows = rows.filter(node_name=node)
    found = list(rows)
    live: dict[str, LiveNode] = {}
    if not has_ended(job):
        live = live_nodes(job.job_id, (row.node_name for row in found if not row.ended_at))
    lost = set(
        JobNode.objects.filter(job_id=job.pk, state=JobNodeState.LOST).values_list(
            "assignment", flat=True
        )
    )
    return [_view(row, live.get(row.node_name), row.assignment in lost) for row in found]


def _view(row: JobProcess, node: LiveNode | None, is_lost: bool) -> ProcessView:
    now = _live_process(row, node)
    state, since = _state(row, node, now, is_lost)
    return ProcessView(
        name=f"{row.node_name}/{process_name(row.number)}",
        node=row.node_name,
        node_index=row.node_index,
        number=row.number,
        pid=row.pid,
        state=state,
        mini_batch=now.mini_batch if now and not row.ended_at else None,
        since_at=since,
        done=now.done if now else None,
        rss_bytes=now.rss_bytes if now else row.peak_rss_bytes,
        gpu=row.gpu,
        ended=row.end or None,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _live_process(row: JobProcess, node: LiveNode | None) -> LiveProcess | None:
    if node is None or node.node_index != row.node_index:
        return None
    return next((one for one in node.processes if one.number == row.number), None)


def _state(
    row: JobProcess, node: LiveNode | None, now: LiveProcess | None, is_lost: bool
) -> tuple[str, datetime | None]:
    if row.ended_at:
        return ("ended" if row.expected_end else "died"), row.ended_at
    if is_lost:
        return "lost", None
    if now and node:
        since = datetime.fromtimestamp(node.at, UTC) - timedelta(seconds=now.since_seconds)
        return now.phase, since
    return ("idle", row.ready_at) if row.ready_at else ("init", row.started_at)
