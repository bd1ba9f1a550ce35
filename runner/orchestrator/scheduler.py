"""The scheduler: looks at nodes and jobs once a second, and grants nodes.

Every look starts from the database; what this process remembers (when it sent
what) only keeps it from sending the same again at once.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta

import redis
from django.db.models import Q
from django.utils import timezone

from prsweb.jobs.dispatch import send_assignment, start_master_role
from prsweb.jobs.models import Job, JobNode, Node
from prsweb.jobs.services import scheduling
from prsweb.jobs.services.master_lease import end_lease_of_the_dead
from prsweb.jobs.transitions import StaleState
from runner.core.placement import Demand, PlacedNode, Placement, place_jobs
from runner.core.states import (
    ACTIVE_STATES,
    WAITING_STATES,
    JobKind,
    JobNodeState,
    JobState,
    NodeState,
)
from runner.orchestrator.beats import BeatAge, BeatReader
from runner.orchestrator.events import Events
from runner.orchestrator.node_rows import refresh_nodes
from runner.orchestrator.redis_link import connect

logger = logging.getLogger(__name__)

RESEND_SECONDS = 5.0  # before the same message is sent again
UNSEEN_SECONDS = 3.0  # how long an assignment may be on its way


@dataclass
class PassCounts:
    """What one pass has done, for the log and for tests."""

    nodes: int = 0
    granted: int = 0
    waiting: int = 0
    rescued: int = 0
    resent: int = 0
    was_refused: bool = False  # another pass was under way


@dataclass
class _Memory:
    """What this process keeps between passes."""

    client: redis.Redis | None = None
    beats: BeatReader | None = None
    sent: dict[tuple[str, int], float] = field(default_factory=dict)  # monotonic

    def reader(self) -> BeatReader:
        if self.client is None or self.beats is None:
            self.client = connect()
            self.beats = BeatReader(self.client)
        return self.beats

    def may_send(self, kind: str, number: int) -> bool:
        """Whether that was not sent just now; notes that it is sent."""
        now = time.monotonic()
        last = self.sent.get((kind, number))
        if last is not None and now - last < RESEND_SECONDS:
            return False
        if len(self.sent) > 10_000:
            self.sent = {key: at for key, at in self.sent.items() if now - at < RESEND_SECONDS}
        self.sent[kind, number] = now
        return True


_memory = _Memory()
_in_this_process = threading.Lock()
_asked_again = threading.Event()


def run_pass() -> PassCounts:
    """Look once at everything. One pass at a time, here and elsewhere: one that is
    asked for while another is under way here makes that one look again."""
    _asked_again.set()
    if not _in_this_process.acquire(blocking=False):
        return PassCounts(was_refused=True)
    try:
        counts = PassCounts(was_refused=True)
        while _asked_again.is_set():
            _asked_again.clear()
            counts = _run_guarded()
        return counts
    finally:
        _in_this_process.release()


def _run_guarded() -> PassCounts:
    owner = scheduling.take_scheduler_lease()
    if owner is None:
        return PassCounts(was_refused=True)
    try:
        return _look(_memory.reader())
    except redis.RedisError as error:
        logger.warning("no pass, Redis is away: %s", error)
        return PassCounts()
    finally:
        scheduling.release_scheduler_lease(owner)


def _look(reader: BeatReader) -> PassCounts:
    counts, events = PassCounts(), Events(reader.client)
    beats = reader.read()
    nodes = refresh_nodes(beats, events)
    counts.nodes = len(nodes)
    _open_jobs()
    jobs = list(_unfinished_jobs())
    placement = place_jobs(_demands(jobs, nodes), _placed(nodes, beats))
    by_name = {node.name: node for node in nodes}
    for job in jobs:
        if job.pk in placement.grants:
            counts.granted += _grant(job, placement, by_name, events)
        elif job.pk in placement.reasons:
            counts.waiting += 1
            _say_waiting(job, placement.reasons[job.pk], events)
    counts.rescued = _rescue_masters(jobs)
    counts.resent = _resend_assignments(beats, by_name)
    return counts


def _open_jobs() -> None:
    """Take in what was submitted, and cancel what was told to before it started."""
    waiting = Job.objects.filter(state__in=WAITING_STATES)
    for job in waiting.filter(Q(state=JobState.SUBMITTED) | ~Q(cancel_requested_at=None)):
        try:
            if job.cancel_requested_at is not None:
                scheduling.cancel_waiting(job)
            else:
                scheduling.make_runnable(job)
        except StaleState as stale:
            logger.info("%s", stale)


def _unfinished_jobs() -> list[Job]:
    """Return the jobs that wait for nodes or hold some, queue and all."""
    states = (JobState.RUNNABLE, *ACTIVE_STATES)
    jobs = Job.objects.filter(state__in=states, queue__enabled=True).select_related("queue")
    return list(jobs.order_by("-queue__priority", "submitted_at", "number"))


def _placed(nodes: list[Node], beats: dict[str, BeatAge]) -> list[PlacedNode]:
    online = [node for node in nodes if node.state != NodeState.LOST]
    held = {node.job_id for node in online if node.job_id is not None}
    names = dict(Job.objects.filter(pk__in=held).values_list("pk", "name"))
    return [
        PlacedNode(
            name=node.name,
            environment=node.environment,
            holder=f"job {names.get(node.job_id, '?')}" if node.job_id is not None else None,
            is_taking=_is_taking(node, beats),
        )
        for node in online
    ]


def _is_taking(node: Node, beats: dict[str, BeatAge]) -> bool:
    """A node is free when it is online, beats, and has ended what it had."""
    age = beats.get(node.name)
    if age is None or node.state != NodeState.ONLINE:
        return False
    return age.age_seconds < scheduling.FRESH_SECONDS and age.beat.boot_id == node.boot_id


def _demands(jobs: list[Job], nodes: list[Node]) -> list[Demand]:
    held: dict[int, int] = {}
    for node in nodes:
        if node.job_id is not None:
            held[node.job_id] = held.get(node.job_id, 0) + 1
    refused = _refusals([job for job in jobs if job.kind == JobKind.PARALLEL_RUN_STEP])
    return [
        _demand(job, held.get(job.pk, 0), refused.get(job.pk, frozenset()))
        for job in jobs
        if job.state == JobState.RUNNABLE or may_grow(job, held.get(job.pk, 0))
    ]


def _demand(job: Job, held: int, refused_by: frozenset[str]) -> Demand:
    return Demand(
        number=job.pk,
        name=job.name,
        queue=job.queue.name,
        priority=job.queue.priority,
        order=(job.submitted_at.timestamp(), job.pk),
        wanted=job.node_count,
        held=held if job.state != JobState.RUNNABLE else 0,
        is_gang=job.kind != JobKind.PARALLEL_RUN_STEP,
        is_started=job.state != JobState.RUNNABLE,
        environments=tuple(job.queue.environments),
        refused_by=refused_by,
    )


def may_grow(job: Job, held: int) -> bool:
    """Whether a started ParallelRunStep job has work for one node more."""
    if job.kind != JobKind.PARALLEL_RUN_STEP or job.state not in ACTIVE_STATES:
        return False
    if held >= job.node_count or job.phase == "assembling":
        return False
    if job.cancel_requested_at is not None or job.decided_by:
        return False
    ended = job.succeeded_count + job.partial_count + job.failed_count
    is_listed = job.phase == "running" and not job.is_listing
    left = job.mini_batches_created - ended
    return not is_listed or left > (job.running_count if held else 0)


def _refusals(jobs: list[Job]) -> dict[int, frozenset[str]]:
    """Return the nodes that gave up each job, by job number."""
    rows = JobNode.objects.filter(job__in=jobs, state=JobNodeState.FAILED)
    names: dict[int, set[str]] = {}
    for number, name in rows.values_list("job_id", "node_name"):
        names.setdefault(number, set()).add(name)
    return {number: frozenset(found) for number, found in names.items()}


def _grant(job: Job, placement: Placement, by_name: dict[str, Node], events: Events) -> int:
    nodes = [by_name[name] for name in placement.grants[job.pk]]
    shown = ", ".join(node.name for node in nodes)
    try:
        if job.state == JobState.RUNNABLE:
            _memory.may_send("master", job.pk)
            granted = scheduling.start_job(job, nodes, reason=f"granted {shown}")
        else:
            granted = scheduling.grow_job(job, nodes)
    except StaleState as stale:
        logger.info("job %d: grant undone: %s", job.pk, stale)
        return 0
    for one in granted:
        _memory.may_send("assignment", one.job_node.pk)
    logger.info("job %d attempt %d: granted %s", job.pk, job.attempt, shown)
    events.publish(job.job_id, "state", "nodes")
    return len(granted)


def _say_waiting(job: Job, reason: str, events: Events) -> None:
    if job.state_reason != reason:
        scheduling.note_waiting(job, reason)
        events.publish(job.job_id, "state")


def _rescue_masters(jobs: list[Job]) -> int:
    """Start the master role again of jobs that nobody leads."""
    now, rescued = timezone.now(), 0
    for job in jobs:
        if job.state not in ACTIVE_STATES:
            continue
        until = job.master_lease_until
        is_free = until is None or until < now or end_lease_of_the_dead(job)
        if is_free and _memory.may_send("master", job.pk):
            start_master_role(job.pk)
            rescued += 1
    return rescued


def _resend_assignments(beats: dict[str, BeatAge], by_name: dict[str, Node]) -> int:
    """Send again what a node should have begun by now: a message may be lost with
    the broker. A node refuses an assignment that it has had already."""
    old = timezone.now() - timedelta(seconds=UNSEEN_SECONDS)
    rows = JobNode.objects.filter(
        state=JobNodeState.STARTING, granted_at__lt=old, job__state__in=ACTIVE_STATES
    ).select_related("job", "job__queue")
    sent = 0
    for row in rows:
        age, node = beats.get(row.node_name), by_name.get(row.node_name)
        if age is None or node is None or age.beat.boot_id != row.boot_id:
            continue
        has_it = (age.beat.job_id, age.beat.assignment) == (row.job.job_id, row.assignment)
        if not has_it and _memory.may_send("assignment", row.pk):
            send_assignment(scheduling.make_assignment(row.job, row, node))
            sent += 1
    return sent
