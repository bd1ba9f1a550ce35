"""Write what becomes of the nodes of a multi-node or plain job."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from prsweb.jobs.dispatch import send_assignment, wake_scheduler
from prsweb.jobs.models import Job, JobNode, Node
from prsweb.jobs.services.scheduling import end_attempt, make_assignment
from prsweb.jobs.transitions import StaleState, move_job, move_job_node
from runner.core.gang_outcome import GangDecision
from runner.core.states import ENDED_JOB_NODE_STATES, JobNodeState, JobState

ACTOR = "master role"
DECISION = "decision"  # in Job.outcome_facts while the nodes are being stopped


def find_gang(job: Job) -> list[JobNode]:
    """Return the nodes of the present attempt, by index, ended ones too."""
    return list(JobNode.objects.filter(job=job, attempt=job.attempt).order_by("index"))


def is_ended(job_node: JobNode) -> bool:
    return JobNodeState(job_node.state) in ENDED_JOB_NODE_STATES


@transaction.atomic
def start_main(job: Job, main: JobNode, *, at: float, owner: str) -> list[JobNode]:
    """Move main and job to RUNNING, and the children to STARTING.

    Their assignments are sent when it is committed, in random order, so that no
    program comes to rely on one. Returns the children. Raises StaleState when
    another master leads the job.
    """
    move_job_node(
        main, JobNodeState.RUNNING, reason="its command was executed", started_at=_time(at)
    )
    if job.state == JobState.STARTING:
        reason = f"the command of the main node runs on {main.node_name}"
        move_job(job, JobState.RUNNING, reason=reason, actor=ACTOR, master_owner=owner)
    children = [one for one in find_gang(job) if one.state == JobNodeState.SUBMITTED]
    random.shuffle(children)
    nodes = {node.name: node for node in Node.objects.filter(job=job)}
    for child in children:
        move_job_node(child, JobNodeState.STARTING, reason="the main node is running")
        if child.node_name in nodes:
            send_assignment(make_assignment(job, child, nodes[child.node_name]))
    return children


def start_child(child: JobNode, *, at: float) -> None:
    move_job_node(
        child, JobNodeState.RUNNING, reason="its command was executed", started_at=_time(at)
    )


@transaction.atomic
def end_part(
    job_node: JobNode,
    target: JobNodeState,
    *,
    reason: str,
    at: float | None = None,
    **facts: Any,
) -> None:
    """End a node's part and free the node; ``facts`` are its exit code and signal."""
    now = timezone.now()
    move_job_node(
        job_node,
        target,
        reason=reason,
        ended_at=now if at is None else _time(at),
        released_at=now,
        **facts,
    )
    Node.objects.filter(name=job_node.node_name, job_id=job_node.job_id).update(job=None)


def find_decision(job: Job) -> GangDecision | None:
    """Return what an earlier master of this attempt has decided."""
    raw = (job.outcome_facts or {}).get(DECISION)
    return GangDecision.from_dict(raw) if raw else None


def keep_decision(job: Job, decision: GangDecision, *, owner: str) -> None:
    """Fix the outcome of the attempt before anything is stopped for it, or raise
    StaleState when another master leads the job."""
    facts = {**(job.outcome_facts or {}), DECISION: decision.to_dict()}
    led = Job.objects.filter(pk=job.pk, master_owner=owner)
    if led.update(outcome_facts=facts) != 1:
        raise StaleState(f"job {job.pk} is led by another master")
    job.outcome_facts = facts


@transaction.atomic
def end_gang(job: Job, decision: GangDecision, *, owner: str, facts: dict[str, Any]) -> None:
    """Move the job to its final state."""
    job.refresh_from_db()
    move_job(
        job,
        decision.state,
        reason=decision.reason,
        actor=ACTOR,
        master_owner=owner,
        cause=decision.cause,
        decided_by=decision.decided_by,
        status_reason=decision.status_reason,
        exit_code=facts.get("exit_code"),
        outcome_facts=facts,
    )
    end_attempt(job, reason=decision.status_reason, exit_code=facts.get("exit_code"))
    wake_scheduler()


@transaction.atomic
def retry_gang(job: Job, decision: GangDecision, *, owner: str, exit_code: int | None) -> None:
    """Move the job back to RUNNABLE: another attempt follows. Nobody leads it then."""
    job.refresh_from_db()
    end_attempt(job, reason=decision.status_reason, exit_code=exit_code)
    uncounted = 1 if decision.is_uncounted else 0
    move_job(
        job,
        JobState.RUNNABLE,
        reason=f"attempt {job.attempt}: {decision.reason}; another attempt follows",
        actor=ACTOR,
        master_owner=owner,
        outcome_facts={},
        attempt_limit=job.attempt_limit + uncounted,
    )
    Job.objects.filter(pk=job.pk, master_owner=owner).update(
        master_owner=None, master_lease_until=None
    )
    wake_scheduler()


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
