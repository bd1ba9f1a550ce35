"""The only module that writes a state.

Each move is a guarded update and its event row in one transaction: of two
processes that race for one move exactly one wins, and the loser is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from prsweb.jobs.models import Job, JobEvent, JobNode, MiniBatch, Node
from prsweb.jobs.models.mini_batch import mini_batch_key
from runner.core.states import (
    JOB_MOVES,
    JOB_NODE_MOVES,
    NODE_MOVES,
    TERMINAL_STATES,
    JobNodeState,
    JobState,
    NodeState,
    check_move,
)


class StaleState(Exception):
    """The row moved on between our read and our write, or another master leads the job."""


def move_job(
    job: Job,
    target: JobState,
    *,
    reason: str,
    actor: str,
    master_owner: str | None = None,
    **facts: Any,
) -> None:
    """Move ``job`` to ``target`` and record the move, or change nothing.

    ``facts`` are further columns written in the same update (``cause``,
    ``exit_code`` …). With ``master_owner`` the move happens only while that
    master leads the job. ``job`` is updated in place.

    Raises InvalidTransition if the life cycle has no such move, and StaleState
    if another process moved the job first.
    """
    current = JobState(job.state)
    check_move(JOB_MOVES, current, target)
    now = timezone.now()
    columns: dict[str, Any] = {"state": target, "state_reason": reason, **facts}
    if target is JobState.RUNNING:
        columns |= {"started_at": job.started_at or now, "running_at": now}
    if target in TERMINAL_STATES:
        columns |= {"ended_at": now, "master_owner": None, "master_lease_until": None}
    guard = {"pk": job.pk, "state": current}
    if master_owner is not None:
        guard["master_owner"] = master_owner

    with transaction.atomic():
        if Job.objects.filter(**guard).update(**columns) != 1:
            raise StaleState(f"job {job.pk} is no longer {current}")
        JobEvent.objects.create(
            job_id=job.pk,
            at=now,
            kind="state",
            from_state=current,
            to_state=target,
            actor=actor,
            reason=reason,
        )
    for column, value in columns.items():
        setattr(job, column, value)


def move_job_node(
    job_node: JobNode, target: JobNodeState, *, reason: str, **facts: Any
) -> None:
    """Move one node's part in a job, or raise StaleState or InvalidTransition."""
    current = JobNodeState(job_node.state)
    check_move(JOB_NODE_MOVES, current, target)
    columns: dict[str, Any] = {"state": target, "state_reason": reason, **facts}
    updated = JobNode.objects.filter(pk=job_node.pk, state=current).update(**columns)
    if updated != 1:
        raise StaleState(f"node {job_node.index} of job {job_node.job_id} moved on")
    for column, value in columns.items():
        setattr(job_node, column, value)


def move_node(node: Node, target: NodeState, **facts: Any) -> None:
    """Move a node as operator or scheduler see it, or raise StaleState."""
    current = NodeState(node.state)
    check_move(NODE_MOVES, current, target)
    columns: dict[str, Any] = {"state": target, **facts}
    if Node.objects.filter(pk=node.pk, state=current).update(**columns) != 1:
        raise StaleState(f"node {node.name} is no longer {current}")
    for column, value in columns.items():
        setattr(node, column, value)


def settle_mini_batches(job_number: int, process: int, records: Iterable[Sequence[int]]) -> int:
    """Give mini-batches their final outcome; return how many had none before.

    ``records`` are tuples in the order of ``runner.harness.wire.RECORD``, whose
    outcome becomes the state; ``process`` is process_key(). The first outcome of
    a mini-batch wins, a later one changes nothing. One statement for all of
    them, inside the caller's transaction: a row costs about 2 us.
    """
    base, is_sqlite = mini_batch_key(job_number, 0), connection.vendor == "sqlite"
    mark = "?" if is_sqlite else "%s"
    statement = _SETTLE.format(
        base=base, process=process, marks=", ".join([mark] * 13), mark=mark
    )
    if is_sqlite:
        # Not by Django's cursor: it keeps a copy of all parameters.
        connection.ensure_connection()
        return int(connection.connection.executemany(statement, records).rowcount)
    with connection.cursor() as cursor:
        cursor.executemany(statement, list(records))
        return int(cursor.rowcount)


_SETTLE = f"""
INSERT INTO {MiniBatch._meta.db_table} (
  "key", "tries", "state", "status", "items", "succeeded", "results", "offset",
  "length", "started_us", "wait_us", "load_us", "run_us", "total_us", "process")
VALUES ({{base}} + {{mark}}, {{marks}}, {{process}})
ON CONFLICT DO NOTHING
"""
