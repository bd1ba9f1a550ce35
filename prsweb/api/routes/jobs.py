"""Jobs: list, submit, show, cancel, resubmit, delete, and their parts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router

from prsweb.api.access import caller, job_of
from prsweb.api.documents import (
    CheckDocument,
    ErrorGroupDocument,
    ErrorPageDocument,
    EventDocument,
    EventPageDocument,
    JobDocument,
    JobNodeDocument,
    JobNodePageDocument,
    JobPageDocument,
    LogPlaceDocument,
    MiniBatchDetailDocument,
    MiniBatchDocument,
    MiniBatchPageDocument,
    ProblemDocument,
    ProcessDocument,
    ProcessPageDocument,
    SamplesDocument,
)
from prsweb.api.job_documents import job_document, job_list_items
from prsweb.api.problems import Malformed
from prsweb.api.request_bodies import CANCEL_BODY, RESUBMIT_BODY, SUBMIT_BODY
from prsweb.api.submissions import (
    read_idempotency_key,
    read_json_object,
    read_settings,
    read_submission,
    read_text,
)
from prsweb.jobs.filters import (
    ErrorFilter,
    Filter,
    JobFilter,
    MiniBatchFilter,
    SampleQuery,
    make_cursor,
    read_cursor,
)
from prsweb.jobs.selectors.errors import error_group, error_groups
from prsweb.jobs.selectors.events import job_events
from prsweb.jobs.selectors.jobs import get_job, job_list
from prsweb.jobs.selectors.log_names import node_log
from prsweb.jobs.selectors.mini_batches import mini_batch, mini_batch_page
from prsweb.jobs.selectors.nodes import job_nodes
from prsweb.jobs.selectors.processes import job_processes
from prsweb.jobs.selectors.samples import job_samples
from prsweb.jobs.selectors.try_logs import try_log_places
from prsweb.jobs.services.cancellation import cancel_job
from prsweb.jobs.services.deletion import delete_job
from prsweb.jobs.services.resubmission import resubmit_job
from prsweb.jobs.services.submission import check_job, submit_job

router = Router(tags=["jobs"])
DEFAULT_CANCEL_REASON = "cancelled through the API"
REASON_CHARACTERS = 2000


@router.get("", response=JobPageDocument, summary="List jobs")
def list_jobs(request: HttpRequest, wanted: Query[JobFilter]) -> dict[str, Any]:
    page = job_list(caller(request).user, wanted)
    return {"items": job_list_items(list(page.jobs)), "next": page.next}


@router.post("", response={201: JobDocument}, summary="Submit a job", openapi_extra=SUBMIT_BODY)
def submit(request: HttpRequest) -> tuple[int, JobDocument]:
    actor = caller(request)
    job = submit_job(submission=read_submission(request), actor=actor)
    return 201, job_document(job)


@router.post(
    "/check",
    response=CheckDocument,
    summary="Check a job without storing it",
    openapi_extra=SUBMIT_BODY,
)
def check(request: HttpRequest) -> CheckDocument:
    found = check_job(submission=read_submission(request), actor=caller(request))
    problems = [
        ProblemDocument(path=one.path, rule=one.rule, found=one.found or "")
        for one in found.problems
    ]
    return CheckDocument(spec=found.spec, warnings=list(found.warnings), problems=problems)


@router.get("/{job_id}", response=JobDocument, summary="Show a job")
def show(request: HttpRequest, job_id: str) -> JobDocument:
    return job_document(job_of(request, job_id))


@router.delete("/{job_id}", response={204: None}, summary="Delete an ended job")
def delete(request: HttpRequest, job_id: str) -> tuple[int, None]:
    delete_job(job=job_of(request, job_id), actor=caller(request))
    return 204, None


@router.post(
    "/{job_id}/cancel", response=JobDocument, summary="Cancel a job", openapi_extra=CANCEL_BODY
)
def cancel(request: HttpRequest, job_id: str) -> JobDocument:
    members = read_json_object(request)
    reason = read_text(members, "reason", DEFAULT_CANCEL_REASON, REASON_CHARACTERS)
    job = cancel_job(job=job_of(request, job_id), actor=caller(request), reason=reason)
    return job_document(job)


@router.post(
    "/{job_id}/resubmit",
    response={201: JobDocument},
    summary="Make a new job from an ended one",
    openapi_extra=RESUBMIT_BODY,
)
def resubmit(request: HttpRequest, job_id: str) -> tuple[int, JobDocument]:
    members = read_json_object(request)
    failed_only = members.get("failed_only", False)
    if not isinstance(failed_only, bool):
        raise Malformed("failed_only: must be true or false.")
    job = resubmit_job(
        job=job_of(request, job_id),
        actor=caller(request),
        set_values=read_settings(members),
        failed_only=failed_only,
        idempotency_key=read_idempotency_key(request),
    )
    return 201, job_document(get_job(caller(request).user, job.job_id))


@router.get(
    "/{job_id}/mini-batches", response=MiniBatchPageDocument, summary="List mini-batches"
)
def list_mini_batches(
    request: HttpRequest, job_id: str, wanted: Query[MiniBatchFilter]
) -> dict[str, Any]:
    page = mini_batch_page(job_of(request, job_id), wanted)
    items = [MiniBatchDocument.model_validate(one) for one in page.mini_batches]
    return {"items": items, "next": page.next, "searched_to": page.searched_to}


@router.get(
    "/{job_id}/mini-batches/{index}",
    response=MiniBatchDetailDocument,
    summary="Show a mini-batch",
)
def show_mini_batch(request: HttpRequest, job_id: str, index: int) -> MiniBatchDetailDocument:
    job = job_of(request, job_id)
    found = mini_batch(job, index)
    document = MiniBatchDetailDocument.model_validate(found)
    places = try_log_places(job, index, found.try_list)
    for one in document.try_list:
        one.log_ranges = [
            LogPlaceDocument.model_validate(place) for place in places.get(one.number, [])
        ]
    return document


@router.get("/{job_id}/nodes", response=JobNodePageDocument, summary="List a job's nodes")
def list_nodes(request: HttpRequest, job_id: str, wanted: Query[Filter]) -> dict[str, Any]:
    job = job_of(request, job_id)
    views, cursor = _slice(job_nodes(job), wanted)
    items = []
    for view in views:
        item = JobNodeDocument.model_validate(view)
        item.log = node_log(job, view)
        items.append(item)
    return {"items": items, "next": cursor}


@router.get(
    "/{job_id}/processes", response=ProcessPageDocument, summary="List worker processes"
)
def list_processes(
    request: HttpRequest, job_id: str, wanted: Query[Filter], node: str | None = None
) -> dict[str, Any]:
    views, cursor = _slice(job_processes(job_of(request, job_id), node=node), wanted)
    items = [ProcessDocument.model_validate(view) for view in views]
    return {"items": items, "next": cursor}


@router.get("/{job_id}/events", response=EventPageDocument, summary="List what happened")
def list_events(request: HttpRequest, job_id: str, wanted: Query[Filter]) -> dict[str, Any]:
    page = job_events(job_of(request, job_id), wanted)
    items = [
        EventDocument(
            at=event.at,
            kind=event.kind,
            from_state=event.from_state or None,
            to_state=event.to_state or None,
            actor=event.actor,
            reason=event.reason,
        )
        for event in page.events
    ]
    return {"items": items, "next": page.next}


@router.get("/{job_id}/errors", response=ErrorPageDocument, summary="List error groups")
def list_errors(
    request: HttpRequest, job_id: str, wanted: Query[ErrorFilter]
) -> dict[str, Any]:
    page = error_groups(job_of(request, job_id), wanted)
    items = [ErrorGroupDocument.model_validate(group) for group in page.groups]
    return {"items": items, "next": page.next}


@router.get(
    "/{job_id}/errors/{fingerprint}", response=ErrorGroupDocument, summary="Show an error group"
)
def show_error(request: HttpRequest, job_id: str, fingerprint: str) -> ErrorGroupDocument:
    group = error_group(job_of(request, job_id), fingerprint)
    return ErrorGroupDocument.model_validate(group)


@router.get("/{job_id}/samples", response=SamplesDocument, summary="Resources over time")
def samples(request: HttpRequest, job_id: str, query: Query[SampleQuery]) -> SamplesDocument:
    return SamplesDocument.model_validate(job_samples(job_of(request, job_id), query))


def _slice(views: list[Any], wanted: Filter) -> tuple[list[Any], str | None]:
    """One page of a list that is made whole anyway."""
    start = max(0, read_cursor(wanted.after, int)[0]) if wanted.after else 0
    end = start + wanted.limit
    return views[start:end], make_cursor(end) if end < len(views) else None
