"""The logs of a job: the tree, one file by ranges of lines, search, download."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_GET
from pydantic import ValidationError

from prsweb.dashboard.access import signed_in_for_data, with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.dashboard.log_folders import log_folders
from prsweb.jobs.filters import LogQuery
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import has_ended
from prsweb.jobs.selectors.log_places import first_log
from prsweb.jobs.selectors.logs import (
    NoSuchLog,
    is_live,
    log_range,
    log_search,
    open_log_bytes,
    search_job_logs,
)

TAIL_LINES = 200
MOST_LINES = 500
QUERY_CHARACTERS = 1000


@require_GET
@with_job
def tree(request: HttpRequest, job: Job) -> HttpResponse:
    """Open the file that tells most; with ``q`` search all files."""
    if text := request.GET.get("q", "").strip():
        return _search_everything(request, job, text[:QUERY_CHARACTERS])
    path = first_log(job)
    if path:
        return redirect("job-log", job.uuid, path)
    return job_page(request, job, "logs", "dashboard/log.html", _tree(request, job))


@require_GET
@with_job
def one(request: HttpRequest, job: Job, log_path: str) -> HttpResponse:
    """The viewer, with the lines that a page without scripts shows: the last ones,
    or those from ``first`` on."""
    first = _number(request, "first", -TAIL_LINES)
    try:
        shown = log_range(job, log_path, first=first, count=TAIL_LINES)
        live = is_live(job, log_path)
    except NoSuchLog as missing:
        raise Http404(str(missing)) from None
    context = {
        "path": log_path,
        "name": PurePosixPath(log_path).name,
        "folder": str(PurePosixPath(log_path).parent),
        "range": shown,
        "live": live,
        "earlier": max(1, shown.first - TAIL_LINES) if shown.first > 1 else None,
        "later": _later(shown.first, len(shown.lines), shown.total_lines),
        **_tree(request, job, open_path=log_path),
    }
    return job_page(request, job, "logs", "dashboard/log.html", context)


@require_GET
@signed_in_for_data
@with_job
def lines(request: HttpRequest, job: Job) -> HttpResponse:
    """Lines as JSON: ``path``, ``first`` (negative: the last ones), ``count``."""
    path = request.GET.get("path", "")
    count = min(MOST_LINES, max(0, _number(request, "count", TAIL_LINES)))
    try:
        found = log_range(job, path, first=_number(request, "first", -TAIL_LINES), count=count)
        return JsonResponse({**asdict(found), "live": is_live(job, path)})
    except NoSuchLog as missing:
        return JsonResponse({"error": str(missing)}, status=404)


@require_GET
@signed_in_for_data
@with_job
def search(request: HttpRequest, job: Job) -> HttpResponse:
    """Hits in one file as JSON: ``path``, ``q``, ``case``, ``from_line``."""
    try:
        query = LogQuery.model_validate(request.GET.dict())
        if not query.q:
            raise ValueError("q: type what to look for")
    except ValidationError as error:
        first = error.errors()[0]
        return JsonResponse({"error": f"{first['loc'][0]}: {first['msg']}"}, status=422)
    except ValueError as error:
        return JsonResponse({"error": str(error)}, status=422)
    try:
        return JsonResponse(asdict(log_search(job, query.path or "", query)))
    except NoSuchLog as missing:
        return JsonResponse({"error": str(missing)}, status=404)


@require_GET
@with_job
def raw(request: HttpRequest, job: Job) -> HttpResponseBase:
    path = request.GET.get("path", "")
    try:
        file = open_log_bytes(job, path)
    except NoSuchLog as missing:
        raise Http404(str(missing)) from None
    return FileResponse(
        file,
        as_attachment=True,
        filename=PurePosixPath(path).name,
        content_type="application/octet-stream",
    )


def _search_everything(request: HttpRequest, job: Job, text: str) -> HttpResponse:
    try:
        found = search_job_logs(job, LogQuery(q=text))
    except ValidationError:
        raise Http404("Text of one line can be looked for.") from None
    context = {"search": found, "q": text, **_tree(request, job)}
    return job_page(request, job, "logs", "dashboard/log_search.html", context)


def _tree(request: HttpRequest, job: Job, open_path: str = "") -> dict[str, Any]:
    after = request.GET.get("tree", "")
    folders, following = log_folders(job, after=after, open_path=open_path)
    return {"folders": folders, "tree_next": following, "has_ended": has_ended(job)}


def _later(first: int, count: int, total: int) -> int | None:
    return first + count if first + count <= total else None


def _number(request: HttpRequest, name: str, default: int) -> int:
    try:
        return int(request.GET.get(name, default))
    except ValueError:
        return default
