"""Names of Celery tasks and queues, so that a sender need not import the task."""

from __future__ import annotations

ORCHESTRATOR_QUEUE = "orchestrator"

SCHEDULE_TASK = "prsweb.schedule"  # no arguments
MASTER_ROLE_TASK = "prsweb.master_role"  # job number
RUN_ASSIGNMENT_TASK = "prsweb.run_assignment"  # assignment as plain JSON


def node_queue(node_name: str) -> str:
    return f"node.{node_name}"
