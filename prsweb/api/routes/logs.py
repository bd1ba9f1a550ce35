"""Logs and outputs of a job."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, BinaryIO

from django.http import FileResponse, HttpRequest
from ninja import Query, Router

from prsweb.api.access import job_of
from prsweb.api.documents import (
    CutLineDocument,
    HitDocument,
    HitPage,
    LogDocument,
    LogLinesDocument,
    LogPageDocument,
    OutputsDocument,
)
from prsweb.api.problems import InvalidQuery
from prsweb.jobs.filters import LogFilter, LogQuery
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.logs import (
    is_live,
    log_range,
    log_search,
    log_tree,
    open_log_bytes,
    search_job_logs,
)
from prsweb.jobs.selectors.outputs import job_outputs, open_output

router = Router(tags=["logs and outputs"])
INT32_MAX = 2**31 - 1


@router.get("/{job_id}/logs", response=LogPageDocument, summary="List log files")
def list_logs(request: HttpRequest, job_id: str, wanted: Query[LogFilter]) -> dict[str, Any]:
    page = log_tree(job_of(request, job_id), wanted)
    items = [LogDocument.model_validate(entry) for entry in page.entries]
    return {"items": items, "next": page.next}


@router.get("/{job_id}/logs/range", response=LogLinesDocument, summary="Lines of a log")
def lines(
    request: HttpRequest,
    job_id: str,
    path: str,
    first: int = Query(1, ge=-INT32_MAX, le=INT32_MAX),
    count: int = Query(200, ge=1, le=500),
) -> LogLinesDocument:
    job = job_of(request, job_id)
    # Asked before the lines are read: a log that ends in between is said to be live.
    live = is_live(job, path)
    found = log_range(job, path, first=first, count=count)
    return LogLinesDocument(
        path=path,
        first=found.first,
        lines=list(found.lines),
        total_lines=found.total_lines,
        bytes=found.total_bytes,
        complete=not live,
        live=live,
        cut=[CutLineDocument.model_validate(one) for one in found.cut],
    )


@router.get("/{job_id}/logs/raw", summary="A log as it is")
def raw_log(request: HttpRequest, job_id: str, path: str) -> FileResponse:
    return download(open_log_bytes(job_of(request, job_id), path), path)


@router.get("/{job_id}/logs/search", response=HitPage, summary="Search logs")
def search(request: HttpRequest, job_id: str, query: Query[LogQuery]) -> HitPage:
    job = job_of(request, job_id)
    if not query.q:
        raise InvalidQuery("q", "is required: the text to look for", "")
    return _search_one(job, query.path, query) if query.path else _search_all(job, query)


@router.get("/{job_id}/outputs", response=OutputsDocument, summary="Output files")
def outputs(request: HttpRequest, job_id: str) -> OutputsDocument:
    return OutputsDocument.model_validate(job_outputs(job_of(request, job_id)))


@router.get("/{job_id}/outputs/raw", summary="An output file as it is")
def raw_output(request: HttpRequest, job_id: str, path: str) -> FileResponse:
    return download(open_output(job_of(request, job_id), path), path)


def download(file: BinaryIO, path: str) -> FileResponse:
    """Give the bytes as a file to keep, never as something that a browser runs."""
    return FileResponse(
        file,
        as_attachment=True,
        filename=PurePosixPath(path).name,
        content_type="application/octet-stream",
    )


def _search_one(job: Job, path: str, query: LogQuery) -> HitPage:
    found = log_search(job, path, query)
    hits = [HitDocument(path=path, line=hit.line, text=hit.text) for hit in found.hits]
    # Where to go on is a line number: from_line of the next request.
    following = None if found.is_complete else str(found.searched_to_line + 1)
    return HitPage(
        items=hits,
        next=following,
        complete=found.is_complete,
        searched_to_line=found.searched_to_line,
    )


def _search_all(job: Job, query: LogQuery) -> HitPage:
    found = search_job_logs(job, query)
    hits = [HitDocument.model_validate(hit) for hit in found.hits]
    return HitPage(items=hits, next=None, complete=found.is_complete, searched_to_line=None)
