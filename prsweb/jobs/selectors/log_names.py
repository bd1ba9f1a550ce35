"""Which log tells about a node of a job."""

from __future__ import annotations

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import job_folder
from prsweb.jobs.selectors.nodes import JobNodeView
from runner.core.states import JobKind


def node_log(job: Job, node: JobNodeView) -> str | None:
    """Return the path below logs/ of what the node's command wrote; None for a
    ParallelRunStep job, whose processes have logs of their own."""
    if job.kind == JobKind.PARALLEL_RUN_STEP:
        return None
    folder = job_folder(job)
    path = folder.attempt_log(node.index, node.attempt)
    return str(path.relative_to(folder.logs)) if path.exists() else None
