"""What every page of a job shows round its tab: headline, buttons, tabs, stream."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from prsweb.dashboard.access import viewer
from prsweb.dashboard.fragments import PageView, page_context
from prsweb.dashboard.positions import current_position
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import get_job, has_ended
from runner.core.redis_keys import JobKeys


def job_page(
    request: HttpRequest, job: Job, page: str, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Render one page of a job inside its frame."""
    view = PageView(page, job, viewer(request), request.GET.dict())
    stream_url = ""
    if not has_ended(job):
        stream_url = _stream_url(view)
        # What the page shows is read after its position: nothing falls between.
        view = PageView(page, get_job(view.user, job.job_id), view.user, view.query)
    frame = {
        "section": "jobs",
        "job": view.job,
        "page_name": page,
        "stream_url": stream_url,
        **page_context(view),
        **context,
    }
    return render(request, template, frame)


def _stream_url(view: PageView) -> str:
    position = current_position(JobKeys(view.job.job_id).events)
    members = {**view.query, "page": view.page, "at": position}
    return f"{reverse('job-stream', args=[view.job.uuid])}?{urlencode(members)}"
