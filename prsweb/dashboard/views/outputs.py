"""What a job has produced: files, a preview, downloads."""

from __future__ import annotations

from pathlib import PurePosixPath

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.outputs import (
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
    path = request.GET.get("path") or _first_path(outputs)
    context = {
        "outputs": outputs,
        "preview": _preview(job, path, request.GET.get("separator")) if path else None,
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
    name = PurePosixPath(outputs.output).name if outputs.output else None
    paths = [file.path for file in outputs.files]
    return name if name in paths else next(iter(paths), None)


def _preview(job: Job, path: str, separator: str | None) -> Preview:
    try:
        return output_preview(job, path, separator=separator or None)
    except NoSuchOutput as missing:
        raise Http404(str(missing)) from None
