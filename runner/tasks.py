"""Celery entry points. A task decides nothing: it calls and logs a refusal.

Imports stand inside the functions, here only: an orchestrator and a node load
this same file, and a node has no Django.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task

from runner.core.task_names import MASTER_ROLE_TASK, RUN_ASSIGNMENT_TASK, SCHEDULE_TASK

logger = logging.getLogger(__name__)


@shared_task(name=SCHEDULE_TASK, ignore_result=True)
def schedule() -> None:
    """Look once at what waits. Safe to deliver twice: one pass at a time."""
    from runner.orchestrator.scheduler import run_pass

    run_pass()


@shared_task(name=MASTER_ROLE_TASK, ignore_result=True)
def master_role(job_number: int) -> None:
    """Lead one job. Safe to deliver twice: the second finds the lease taken."""
    from prsweb.jobs.services.master_lease import MasterLeaseRefused, take_master_lease
    from runner.orchestrator.master import lead_job

    try:
        job, owner = take_master_lease(job_number)
    except MasterLeaseRefused as refused:
        logger.info("job %d not led here: %s", job_number, refused)
        return
    lead_job(job, owner)


@shared_task(name=RUN_ASSIGNMENT_TASK, ignore_result=True)
def run_assignment(raw: dict[str, Any]) -> None:
    """Work on one assignment until it ends. Safe to deliver twice: the agent
    refuses what is not meant for its present start."""
    from runner.node.agent import AssignmentRefused, run

    try:
        run(raw)
    except AssignmentRefused as refused:
        logger.info("assignment not run here: %s", refused)
