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
from prsweb.jobs.selectors.jobs import has_ended
from runner.core.redis_keys import JobKeys


def job_page(
    request: HttpRequest, job: Job, page: str, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Render one page of a job inside its frame."""
    view = PageView(page, job, viewer(request), request.GET.dict())
    frame = {
        "section": "jobs",
        "job": job,
        "stream_url": "" if has_ended(job) else _stream_url(view),
        **page_context(view),
        **context,
    }
    return render(request, template, frame)


def _stream_url(view: PageView) -> str:
    position = current_position(JobKeys(view.job.job_id).events)
    members = {**view.query, "page": view.page, "at": position}
    return f"{reverse('job-stream', args=[view.job.uuid])}?{urlencode(members)}"
