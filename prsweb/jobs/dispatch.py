"""Send work to orchestrators and nodes, by task name, when the transaction commits."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.db import transaction
from kombu.exceptions import OperationalError

from runner.celery import app
from runner.core.messages import Assignment
from runner.core.task_names import (
    MASTER_ROLE_TASK,
    ORCHESTRATOR_QUEUE,
    RUN_ASSIGNMENT_TASK,
    SCHEDULE_TASK,
    node_queue,
)

logger = logging.getLogger(__name__)


def wake_scheduler() -> None:
    _send_on_commit(SCHEDULE_TASK, queue=ORCHESTRATOR_QUEUE)


def start_master_role(job_number: int) -> None:
    _send_on_commit(MASTER_ROLE_TASK, job_number, queue=ORCHESTRATOR_QUEUE)


def send_assignment(assignment: Assignment) -> None:
    _send_on_commit(
        RUN_ASSIGNMENT_TASK,
        assignment.to_dict(),
        queue=node_queue(assignment.node_name),
    )


def _send_on_commit(task_name: str, *args: Any, queue: str) -> None:
    transaction.on_commit(partial(_send, task_name, args, queue))


def _send(task_name: str, args: tuple[Any, ...], queue: str) -> None:
    """A broker that is away loses nothing: the scheduler's next look finds what
    the database says must run, and sends again."""
    try:
        app.send_task(task_name, args=args, queue=queue, retry=False)
    except OperationalError as error:
        logger.warning("%s not sent, Redis is away: %s", task_name, error)
