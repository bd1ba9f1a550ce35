"""A job at a glance."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.models import Job


@require_GET
@with_job
def overview(request: HttpRequest, job: Job) -> HttpResponse:
    return job_page(request, job, "overview", "dashboard/overview.html", {})
