"""The logs of a job: the tree, one file by ranges of lines, search, download."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.shortcuts import redirect
from django.views.decorators.http import require_GET
from pydantic import ValidationError

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.filters import LogFilter, LogQuery, tolerant
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.log_places import first_log
from prsweb.jobs.selectors.logs import (
    LogEntry,
    NoSuchLog,
    is_live,
    log_range,
    log_search,
    log_tree,
    open_log_bytes,
    search_job_logs,
)

TAIL_LINES = 200
MOST_LINES = 500


@dataclass(frozen=True)
class Folder:
    """The files of one folder of the tree."""

    path: str
    entries: tuple[LogEntry, ...]


@require_GET
@with_job
def tree(request: HttpRequest, job: Job) -> HttpResponse:
    """Open the file that tells most; with ``q`` search all files."""
    if request.GET.get("q"):
        query = LogQuery.model_validate({"q": " ".join(request.GET["q"][:1000].split())})
        context = {"search": search_job_logs(job, query), "q": query.q, **_tree(request, job)}
        return job_page(request, job, "logs", "dashboard/log_search.html", context)
    path = first_log(job)
    if path:
        return redirect("job-log", job.uuid, path)
    return job_page(request, job, "logs", "dashboard/log.html", _tree(request, job))


@require_GET
@with_job
def one(request: HttpRequest, job: Job, log_path: str) -> HttpResponse:
    """The viewer, with the lines that a page without scripts shows: the last ones,
    or those from ``first`` on."""
    try:
        shown = log_range(
            job, log_path, first=_number(request, "first", -TAIL_LINES), count=TAIL_LINES
        )
    except NoSuchLog as missing:
        raise Http404(str(missing)) from None
    context = {
        "path": log_path,
        "name": PurePosixPath(log_path).name,
        "range": shown,
        "live": is_live(job, log_path),
        "earlier": max(1, shown.first - TAIL_LINES) if shown.first > 1 else None,
        **_tree(request, job),
    }
    return job_page(request, job, "logs", "dashboard/log.html", context)


@require_GET
@with_job
def lines(request: HttpRequest, job: Job) -> HttpResponse:
    path = request.GET.get("path", "")
    count = min(MOST_LINES, max(1, _number(request, "count", TAIL_LINES)))
    try:
        found = log_range(job, path, first=_number(request, "first", -TAIL_LINES), count=count)
    except NoSuchLog as missing:
        return JsonResponse({"error": str(missing)}, status=404)
    return JsonResponse({**asdict(found), "live": is_live(job, path)})


@require_GET
@with_job
def search(request: HttpRequest, job: Job) -> HttpResponse:
    path = request.GET.get("path", "")
    try:
        query = LogQuery.model_validate(request.GET.dict())
    except ValidationError as error:
        return JsonResponse({"error": error.errors()[0]["msg"]}, status=422)
    try:
        return JsonResponse(asdict(log_search(job, path, query)))
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


def _tree(request: HttpRequest, job: Job) -> dict[str, object]:
    wanted, _ = tolerant(LogFilter, {"after": request.GET.get("tree", "")})
    page = log_tree(job, wanted)
    folders: dict[str, list[LogEntry]] = {}
    for entry in page.entries:
        folders.setdefault(str(PurePosixPath(entry.path).parent), []).append(entry)
    return {
        "folders": [Folder(path, tuple(entries)) for path, entries in folders.items()],
        "tree_next": page.next,
    }


def _number(request: HttpRequest, name: str, default: int) -> int:
    try:
        return int(request.GET.get(name, default))
    except ValueError:
        return default
