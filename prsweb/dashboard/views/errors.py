"""Errors of a job, grouped by cause."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.errors import NoSuchErrorGroup, error_group
from prsweb.jobs.selectors.log_places import error_place


@require_GET
@with_job
def groups(request: HttpRequest, job: Job) -> HttpResponse:
    return job_page(request, job, "errors", "dashboard/errors.html", {})


@require_GET
@with_job
def group(request: HttpRequest, job: Job, fingerprint: str) -> HttpResponse:
    try:
        found = error_group(job, fingerprint)
    except NoSuchErrorGroup as missing:
        raise Http404(str(missing)) from None
    context = {"group": found, "place": error_place(job, found)}
    return job_page(request, job, "error", "dashboard/error.html", context)
