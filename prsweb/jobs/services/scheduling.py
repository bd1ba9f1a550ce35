"""What the scheduler writes: nodes as they beat, grants, and why a job waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from prsweb.jobs.dispatch import send_assignment, start_master_role
from prsweb.jobs.models import Attempt, Job, JobEvent, JobNode, Node, OrchestratorLease
from prsweb.jobs.models.participation import JobProcess
from prsweb.jobs.transitions import StaleState, move_job, move_node
from runner.core.messages import Assignment, NodeBeat
from runner.core.states import (
    TERMINAL_STATES,
    WAITING_STATES,
    JobKind,
    JobNodeState,
    JobState,
    NodeState,
)

ACTOR = "scheduler"
LEASE_NAME = "scheduler"
LEASE_SECONDS = 5  # of one pass, which takes milliseconds; guards hold if it is longer
FRESH_SECONDS = 5.0  # a node whose last beat is older is granted to nobody


# --- one pass at a time -------------------------------------------------------------


def take_scheduler_lease() -> str | None:
    """Return the owner's name, or None while another pass is under way."""
    now, owner = timezone.now(), uuid4().hex
    OrchestratorLease.objects.get_or_create(name=LEASE_NAME)
    free = Q(until=None) | Q(until__lt=now)
    taken = OrchestratorLease.objects.filter(free, name=LEASE_NAME).update(
        owner=owner, until=now + timedelta(seconds=LEASE_SECONDS)
    )
    return owner if taken == 1 else None


def release_scheduler_lease(owner: str) -> None:
    held = OrchestratorLease.objects.filter(name=LEASE_NAME, owner=owner)
    held.update(owner="", until=None)


# --- nodes --------------------------------------------------------------------------


def join_node(beat: NodeBeat, *, at: datetime) -> Node:
    """Return the new row of a node that beats for the first time."""
    node, _ = Node.objects.get_or_create(
        name=beat.name,
        defaults={**_described(beat), "joined_at": at, "up_since": at, "beat_at": at},
    )
    return node


def note_new_start(node: Node, beat: NodeBeat, *, at: datetime) -> None:
    """Take note that the node's worker was started anew."""
    _update_node(node, **_described(beat), up_since=at, beat_at=at)


def note_beat(node: Node, *, at: datetime) -> None:
    _update_node(node, beat_at=at)


def _update_node(node: Node, **columns: object) -> None:
    Node.objects.filter(pk=node.pk).update(**columns)
    for name, value in columns.items():
        setattr(node, name, value)


def _described(beat: NodeBeat) -> dict[str, object]:
    return {
        "boot_id": beat.boot_id,
        "address": beat.address,
        "host": beat.host,
        "location": beat.location,
        "environment": beat.environment,
        "instance_type": beat.instance_type,
        "vcpus": beat.vcpus,
        "memory_mib": beat.memory_mib,
        "gpus": beat.gpus,
        "version": beat.version,
        "simulated": beat.simulated,
    }


def release_ended(node: Node) -> bool:
    """Free a node whose job has ended; True if it was."""
    ended = Node.objects.filter(pk=node.pk, job__state__in=TERMINAL_STATES)
    return ended.update(job=None) == 1


def finish_drain(node: Node) -> None:
    """Move a draining node without a job to drained."""
    if node.state == NodeState.DRAINING and node.job_id is None:
        move_node(node, NodeState.DRAINED)


# --- jobs ---------------------------------------------------------------------------


def note_waiting(job: Job, reason: str) -> None:
    """Say why a job waits, if that has changed."""
    if job.state_reason == reason:
        return
    waiting = Job.objects.filter(pk=job.pk, state=job.state)
    waiting.update(state_reason=reason)
    job.state_reason = reason


def make_runnable(job: Job) -> None:
    move_job(job, JobState.RUNNABLE, reason="waiting for nodes", actor=ACTOR)


def cancel_waiting(job: Job) -> None:
    """Cancel a job that was told to while no master led it."""
    by = job.cancel_requested_by or "somebody"
    note = f' ("{job.cancel_reason}")' if job.cancel_reason else ""
    reason = f"cancelled by {by}{note} before it started"
    if JobState(job.state) in WAITING_STATES:
        move_job(
            job,
            JobState.CANCELLED,
            reason=reason,
            actor=by,
            cause="cancelled",
            decided_by=by,
            outcome_facts={"cancelled_by": by, "cancel_reason": job.cancel_reason or ""},
        )


def end_attempt(job: Job, *, reason: str, exit_code: int | None = None) -> None:
    """Close the row of the job's present attempt."""
    attempt = Attempt.objects.filter(job=job, number=job.attempt, ended_at=None)
    attempt.update(
        started_at=job.running_at, ended_at=timezone.now(), reason=reason, exit_code=exit_code
    )


@dataclass(frozen=True)
class Granted:
    node: Node
    job_node: JobNode


@transaction.atomic
def start_job(job: Job, nodes: Sequence[Node], *, reason: str) -> list[Granted]:
    """Grant ``nodes`` to a job that waits and move it to STARTING.

    Changes nothing and raises StaleState when a node or the job was taken by
    somebody else. Assignments and master role are sent when it is committed.
    """
    attempt = job.attempt + 1
    now = timezone.now()
    move_job(job, JobState.STARTING, reason=reason, actor=ACTOR, attempt=attempt)
    Attempt.objects.get_or_create(job=job, number=attempt, defaults={"granted_at": now})
    granted = [_grant(job, node, now=now) for node in nodes]
    _send(job, granted)
    start_master_role(job.pk)
    return granted


@transaction.atomic
def grow_job(job: Job, nodes: Sequence[Node]) -> list[Granted]:
    """Grant further nodes to a ParallelRunStep job that has started."""
    now = timezone.now()
    granted = [_grant(job, node, now=now) for node in nodes]
    _send(job, granted)
    return granted


def _grant(job: Job, node: Node, *, now: datetime) -> Granted:
    free = Node.objects.filter(
        pk=node.pk, job=None, state=NodeState.ONLINE, boot_id=node.boot_id
    )
    if free.update(job=job) != 1:
        raise StaleState(f"node {node.name} is no longer free")
    node.job = job
    Job.objects.filter(pk=job.pk).update(next_assignment=F("next_assignment") + 1)
    number = Job.objects.values_list("next_assignment", flat=True).get(pk=job.pk) - 1
    job.next_assignment = number + 1
    index = _node_index(job, node.name)
    job_node = JobNode.objects.create(
        job=job,
        attempt=job.attempt,
        assignment=number,
        index=index,
        node_name=node.name,
        boot_id=node.boot_id,
        address=node.address,
        is_main=_is_main(job, index),
        state=_first_state(job, index),
        state_reason="granted by the scheduler",
        process_count=processes_on(job, node),
        first_process=_next_process(job, index),
        granted_at=now,
    )
    JobEvent.objects.create(
        job=job,
        at=now,
        kind="node_granted",
        actor=ACTOR,
        reason=f"node {node.name} granted as node {index} (assignment {number})",
    )
    return Granted(node, job_node)


def _node_index(job: Job, node_name: str) -> int:
    """Return the node's index in the job: the one it had before, else the next."""
    earlier = JobNode.objects.filter(job=job)
    if job.kind != JobKind.PARALLEL_RUN_STEP:
        earlier = earlier.filter(attempt=job.attempt)  # every attempt counts from 0
    known = earlier.filter(node_name=node_name).values_list("index", flat=True).first()
    if known is not None:
        return known
    largest = earlier.aggregate(largest=Max("index"))["largest"]
    return 0 if largest is None else int(largest) + 1


def _next_process(job: Job, index: int) -> int:
    """Return the first process number never used by that node in the job."""
    processes = JobProcess.objects.filter(job=job, node_index=index)
    largest = processes.aggregate(largest=Max("number"))["largest"]
    granted = JobNode.objects.filter(job=job, index=index).aggregate(
        largest=Max(F("first_process") + F("process_count"))
    )["largest"]
    return max(0 if largest is None else largest + 1, granted or 0)


def _is_main(job: Job, index: int) -> bool:
    return job.kind != JobKind.PARALLEL_RUN_STEP and index == (job.main_node or 0)


def _first_state(job: Job, index: int) -> JobNodeState:
    """Children of a multi-node job wait until the main node runs."""
    if job.kind == JobKind.PARALLEL_RUN_STEP or _is_main(job, index):
        return JobNodeState.STARTING
    return JobNodeState.SUBMITTED


def processes_on(job: Job, node: Node) -> int:
    """Return the worker processes of the job on that node."""
    if job.kind != JobKind.PARALLEL_RUN_STEP:
        return 1
    given = job.spec.get("process_count_per_node")
    return int(given) if given else (1 if node.gpus else node.vcpus)


def _send(job: Job, granted: Sequence[Granted]) -> None:
    """Send the assignments: to every node of a ParallelRunStep job, to the main
    node alone of another, whose master role sends the rest."""
    for one in granted:
        if job.kind == JobKind.PARALLEL_RUN_STEP or one.job_node.is_main:
            send_assignment(make_assignment(job, one.job_node, one.node))


def make_assignment(job: Job, job_node: JobNode, node: Node) -> Assignment:
    """Return what ``node`` is told about its part."""
    same_attempt = JobNode.objects.filter(job=job, attempt=job_node.attempt)
    addresses = dict(same_attempt.values_list("index", "address"))
    main_index = (job.main_node or 0) if job.kind != JobKind.PARALLEL_RUN_STEP else 0
    is_gang = job.kind != JobKind.PARALLEL_RUN_STEP
    return Assignment(
        job_id=job.job_id,
        job_number=job.pk,
        kind=job.kind,
        attempt=job_node.attempt,
        number=job_node.assignment,
        node_name=node.name,
        node_index=job_node.index,
        boot_id=job_node.boot_id,
        folder=str(settings.PRSWEB_HOME.job(job.job_id).root),
        node_count=job.node_count,
        main_node=main_index,
        is_main_address=addresses.get(main_index, job_node.address),
        process_count=job_node.process_count,
        first_process=job_node.first_process,
        gpus=node.gpus,
        vcpus=node.vcpus,
        memory_mib=node.memory_mib,
        addresses=tuple(addresses[index] for index in sorted(addresses)) if is_gang else (),
        queue=job.queue.name,
        environment=node.environment or "default",
    )


def fail_job(job: Job, reason: str, *, cause: str, owner: str) -> None:
    """Move a led job to FAILED and free its nodes; what it wrote so far stays."""
    job.refresh_from_db()
    move_job(
        job,
        JobState.FAILED,
        reason=reason,
        actor="master role",
        master_owner=owner,
        cause=cause,
        decided_by="master role",
        is_listing=False,
        phase="",
    )
    end_attempt(job, reason=reason)
