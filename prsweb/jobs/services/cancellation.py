"""Ending a job because a person wants it."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import redis
from django.db import transaction
from django.utils import timezone

from prsweb.accounts.audit import audit
from prsweb.accounts.permissions import Actor, require_owner_or_operator
from prsweb.jobs.dispatch import wake_scheduler
from prsweb.jobs.models import Job, JobEvent
from prsweb.jobs.selectors.live import redis_client
from prsweb.jobs.transitions import StaleState, move_job
from runner.core.outcome import cancelled
from runner.core.redis_keys import JobKeys
from runner.core.states import ACTIVE_STATES, TERMINAL_STATES, JobState

logger = logging.getLogger(__name__)


class CannotCancel(Exception):
    """The job has ended. Fit to show."""


def cancel_job(*, job: Job, actor: Actor, reason: str) -> Job:
    """Cancel a job that waits; order the end of one that has started.

    A started job keeps its state until nothing of it is left: its master role
    sees the order and stops the processes. A second order changes nothing.
    Raises CannotCancel for a job that has ended, and NotAllowed.
    """
    require_owner_or_operator(actor, job.owner_id, "cancel this job")
    while True:
        job.refresh_from_db()
        state = JobState(job.state)
        if state in TERMINAL_STATES:
            raise CannotCancel(f'Job "{job.name}" has ended already: {state.value}.')
        if job.cancel_requested_at is not None:
            return job
        try:
            if state in ACTIVE_STATES:
                _order_cancel(job, actor, reason)
            else:
                _cancel_waiting(job, actor, reason)
        except StaleState:  # it moved on between our look and our write: look again
            continue
        return job


@transaction.atomic
def _cancel_waiting(job: Job, actor: Actor, reason: str) -> None:
    decision = cancelled(actor.words, reason)
    move_job(
        job,
        JobState.CANCELLED,
        reason=decision.sentence,
        actor=actor.words,
        cause=decision.cause,
        decided_by=actor.words,
        outcome_facts=dict(decision.facts),
        **_order(actor, reason),
    )
    audit(actor, "cancel job", job.job_id, note=reason)
    wake_scheduler()


@transaction.atomic
def _order_cancel(job: Job, actor: Actor, reason: str) -> None:
    order = _order(actor, reason)
    ordered = Job.objects.filter(
        pk=job.pk, state__in=ACTIVE_STATES, cancel_requested_at=None
    ).update(**order)
    if ordered != 1:
        raise StaleState(f"job {job.pk} moved on")
    JobEvent.objects.create(
        job_id=job.pk,
        at=order["cancel_requested_at"],
        kind="cancel_ordered",
        actor=actor.words,
        reason=reason,
    )
    audit(actor, "cancel job", job.job_id, note=reason)
    for column, value in order.items():
        setattr(job, column, value)
    wake_scheduler()
    transaction.on_commit(partial(_ring, job.job_id))


def _order(actor: Actor, reason: str) -> dict[str, Any]:
    return {
        "cancel_requested_at": timezone.now(),
        "cancel_requested_by": actor.words,
        "cancel_reason": reason,
    }


def _ring(job_id: str) -> None:
    """Wake the master role; without Redis it finds the order at its next look."""
    bell = JobKeys(job_id).wake
    try:
        with redis_client().pipeline() as pipe:
            pipe.lpush(bell, "1")
            pipe.ltrim(bell, 0, 0)
            pipe.execute()
    except redis.RedisError as error:
        logger.warning("job %s: bell not rung, Redis is away: %s", job_id, error)
