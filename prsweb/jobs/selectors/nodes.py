"""Nodes as they are now, and the nodes of a job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from prsweb.accounts.models import User
from prsweb.jobs.filters import NodeFilter, make_cursor, read_cursor
from prsweb.jobs.models import Job, JobNode, Node
from prsweb.jobs.selectors.jobs import visible_jobs
from prsweb.jobs.selectors.live import node_beats
from runner.core.messages import StampedBeat
from runner.core.states import NodeState, node_state_at


class NoSuchNode(Exception):
    """No node of that name has ever joined."""


@dataclass(frozen=True)
class NodeView:
    name: str
    state: NodeState  # by the age of the last beat
    address: str
    host: str
    location: str
    environment: str | None
    instance_type: str | None
    vcpus: int
    memory_mib: int
    gpus: int
    job_id: str | None  # what runs here, if the person may see it
    job_name: str | None
    is_free: bool
    version: str
    up_since: datetime
    beat_age_seconds: float
    cpu_percent: float | None  # of the whole node, now
    memory_percent: float | None
    simulated: bool


@dataclass(frozen=True)
class NodePage:
    nodes: tuple[NodeView, ...]
    next: str | None


@dataclass(frozen=True)
class JobNodeView:
    """A node's part in a job."""

    index: int
    name: str
    address: str
    main: bool
    state: str
    exit_code: int | None
    signal: int | None
    reason: str
    granted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    attempt: int
    assignment: int
    process_count: int


def list_nodes(user: User, wanted: NodeFilter) -> NodePage:
    """Return one page of nodes by name; n2 stands before n10."""
    views = sorted(node_views(user), key=lambda view: (len(view.name), view.name))
    if wanted.state:
        views = [view for view in views if view.state in wanted.state]
    if wanted.environment:
        views = [view for view in views if view.environment == wanted.environment]
    if wanted.after:
        (name,) = read_cursor(wanted.after, str)
        views = [view for view in views if (len(view.name), view.name) > (len(name), name)]
    page = views[: wanted.limit]
    more = len(views) > wanted.limit
    return NodePage(tuple(page), make_cursor(page[-1].name) if more else None)


def node_views(user: User) -> list[NodeView]:
    """Return every node. Two queries, and one trip to Redis.

    The state follows from the beats in Redis; without Redis, from what the
    scheduler wrote at its last look.
    """
    rows = list(Node.objects.all())
    beats, now = node_beats([row.name for row in rows])
    jobs = _visible_names(user, rows)
    return [_view(row, beats.get(row.name), now, jobs) for row in rows]


def get_node(name: str) -> Node:
    """Return the node's row, or raise NoSuchNode."""
    row = Node.objects.filter(name=name).first()
    if row is None:
        raise NoSuchNode(f"There is no node {name}.")
    return row


def node_view(user: User, name: str) -> NodeView:
    """Return the node, or raise NoSuchNode."""
    row = get_node(name)
    beats, now = node_beats([name])
    return _view(row, beats.get(name), now, _visible_names(user, [row]))


def job_nodes(job: Job) -> list[JobNodeView]:
    """Return the nodes of a job: the main node first, then by index; of a node that
    was granted twice the newest assignment."""
    newest: dict[tuple[int, int], JobNode] = {}
    for row in assignments(job):
        newest[row.attempt, row.index] = row
    ordered = sorted(
        newest.values(), key=lambda row: (-row.attempt, not row.is_main, row.index)
    )
    return [_job_node_view(row) for row in ordered]


def assignments(job: Job) -> QuerySet[JobNode]:
    """Every grant of a node to the job, in order."""
    return JobNode.objects.filter(job_id=job.pk).order_by("assignment")


def _view(row: Node, beat: StampedBeat | None, now: float, jobs: dict[int, Job]) -> NodeView:
    fresh = beat is not None and beat.beat.boot_id == row.boot_id
    if beat is not None and fresh:
        age = max(0.0, now - beat.at)
    else:
        age = max(0.0, (timezone.now() - row.beat_at).total_seconds())
    job = jobs.get(row.job_id) if row.job_id else None
    state = node_state_at(NodeState(row.state), age)
    return NodeView(
        name=row.name,
        state=state,
        address=row.address,
        host=row.host,
        location=row.location,
        environment=row.environment,
        instance_type=row.instance_type,
        vcpus=row.vcpus,
        memory_mib=row.memory_mib,
        gpus=row.gpus,
        job_id=job.job_id if job else None,
        job_name=job.name if job else None,
        is_free=row.job_id is None and state in (NodeState.ONLINE, NodeState.LATE),
        version=row.version,
        up_since=row.up_since,
        beat_age_seconds=round(age, 1),
        cpu_percent=beat.beat.cpu_percent if beat and fresh else None,
        memory_percent=beat.beat.memory_percent if beat and fresh else None,
        simulated=row.simulated,
    )


def _visible_names(user: User, rows: list[Node]) -> dict[int, Job]:
    numbers = {row.job_id for row in rows if row.job_id}
    return (
        visible_jobs(user)
        .only("number", "uuid", "name")
        .select_related(None)
        .in_bulk(list(numbers))
    )


def _job_node_view(row: JobNode) -> JobNodeView:
    return JobNodeView(
        index=row.index,
        name=row.node_name,
        address=row.address,
        main=row.is_main,
        state=row.state,
        exit_code=row.exit_code,
        signal=row.signal,
        reason=row.state_reason,
        granted_at=row.granted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        attempt=row.attempt,
        assignment=row.assignment,
        process_count=row.process_count,
    )
