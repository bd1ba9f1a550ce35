"""What a job has produced: files, a preview, downloads."""

from __future__ import annotations

from pathlib import PurePosixPath

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import has_ended
from prsweb.jobs.selectors.outputs import (
    SEPARATORS,
    NoSuchOutput,
    Outputs,
    Preview,
    job_outputs,
    open_output,
    output_preview,
)


@require_GET
@with_job
def page(request: HttpRequest, job: Job) -> HttpResponse:
    outputs = job_outputs(job)
    asked = request.GET.get("path")
    path = asked or _first_path(outputs)
    context = {
        "outputs": outputs,
        "result_name": _result_name(outputs),
        "preview": _preview(job, path, _separator(request), is_asked=bool(asked)),
        "separators": SEPARATORS,
        "has_ended": has_ended(job),
    }
    return job_page(request, job, "outputs", "dashboard/outputs.html", context)


@require_GET
@with_job
def download(request: HttpRequest, job: Job) -> HttpResponseBase:
    path = request.GET.get("path", "")
    try:
        file = open_output(job, path)
    except NoSuchOutput as missing:
        raise Http404(str(missing)) from None
    return FileResponse(
        file,
        as_attachment=True,
        filename=PurePosixPath(path).name,
        content_type="application/octet-stream",
    )


def _first_path(outputs: Outputs) -> str | None:
    """Open the result itself, else the first file there is."""
    name = _result_name(outputs)
    paths = [file.path for file in outputs.files]
    return name if name in paths else next(iter(paths), None)


def _result_name(outputs: Outputs) -> str | None:
    return PurePosixPath(outputs.output).name if outputs.output else None


def _separator(request: HttpRequest) -> str | None:
    asked = request.GET.get("separator")
    return asked if asked in SEPARATORS else None


def _preview(
    job: Job, path: str | None, separator: str | None, *, is_asked: bool
) -> Preview | None:
    """Return the preview; 404 for a path that somebody asked for and is not there."""
    if path is None:
        return None
    try:
        return output_preview(job, path, separator=separator)
    except NoSuchOutput as missing:
        if is_asked:
            raise Http404(str(missing)) from None
        return None
