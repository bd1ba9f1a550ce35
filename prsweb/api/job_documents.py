"""A job as JSON, whole and in lists."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone

from prsweb.api.documents import (
    ErrorGroupDocument,
    HeadlineDocument,
    JobDocument,
    JobListItem,
    Progress,
)
from prsweb.jobs.headline_texts import Headline, headline_of, list_headline
from prsweb.jobs.models import Job, JobMetric
from prsweb.jobs.selectors.errors import top_error_groups
from prsweb.jobs.selectors.jobs import is_cancelling, job_folder, node_names
from prsweb.jobs.selectors.outputs import output_folder
from prsweb.jobs.selectors.progress import azure_metrics, job_progress
from runner.core.states import JobKind


def job_document(job: Job) -> JobDocument:
    """Return the job with all members. A few queries."""
    members = _members(job, headline_of(job), node_names([job])[job.pk])
    is_step = job.kind == JobKind.PARALLEL_RUN_STEP
    metrics: dict[str, Any] = _logged_metrics(job)
    if is_step:
        metrics |= azure_metrics(job_progress(job), job.failed_items)
    groups = [ErrorGroupDocument.model_validate(one) for one in top_error_groups(job)]
    return JobDocument(
        **members,
        metrics=metrics,
        top_errors=groups,
        changes=job.changes,
        spec=job.spec,
    )


def job_list_items(jobs: list[Job]) -> list[JobListItem]:
    """Return jobs as lists show them. One query for all."""
    names = node_names(jobs)
    return [JobListItem(**_members(job, list_headline(job), names[job.pk])) for job in jobs]


def _members(job: Job, headline: Headline, nodes: list[str]) -> dict[str, Any]:
    is_step = job.kind == JobKind.PARALLEL_RUN_STEP
    progress = job_progress(job)
    public_url = settings.PRSWEB_PUBLIC_URL.rstrip("/")
    return {
        "id": job.job_id,
        "name": job.name,
        "kind": job.kind,
        "state": job.state,
        "cancelling": is_cancelling(job),
        "owner": job.owner.get_username(),
        "private": job.private,
        "queue": job.queue.name,
        "tags": job.tags,
        "url": f"{public_url}/jobs/{job.job_id}/",
        "folder": str(job_folder(job).root),
        "output": job.output_path,
        "output_folder": str(output_folder(job)),
        "mini_batches": progress.created if is_step else None,
        "items": progress.items if is_step else None,
        "succeeded_items": job.succeeded_items if is_step else None,
        "failed_items": job.failed_items if is_step else None,
        "repeated_tries": job.repeated_tries if is_step else None,
        "duplicates": job.duplicates if is_step else None,
        "progress": Progress.model_validate(progress) if is_step else None,
        "submitted_at": job.submitted_at,
        "started_at": job.started_at,
        "running_at": job.running_at,
        "ended_at": job.ended_at,
        "seconds": round(
            ((job.ended_at or timezone.now()) - job.submitted_at).total_seconds(), 3
        ),
        "attempt": job.attempt,
        "attempts": job.attempt,
        "attempt_limit": job.attempt_limit,
        "reason": job.state_reason,
        "cause": job.cause,
        "decided_by": job.decided_by,
        "cancel_reason": job.cancel_reason,
        "status_reason": job.status_reason,
        "exit_code": job.exit_code,
        "headline": HeadlineDocument.model_validate(headline),
        "warnings": job.warnings,
        "nodes": nodes,
        "main_node": job.main_node,
        "node_count": job.node_count,
        "resubmitted_from": _id(job.resubmitted_from),
        "reused_from": _id(job.reused_from),
        "version": job.version,
    }


def _id(job: Job | None) -> str | None:
    return job.job_id if job else None


def _logged_metrics(job: Job) -> dict[str, Any]:
    """What the script logged: the value, or all of them in order when a name came
    more than once."""
    values: dict[str, list[Any]] = {}
    rows = JobMetric.objects.filter(job_id=job.pk).order_by("pk")
    for name, value in rows.values_list("name", "value")[:10_000]:
        values.setdefault(name, []).append(value)
    return {name: found[0] if len(found) == 1 else found for name, found in values.items()}
