"""What every page of a job shows round its tab: headline, buttons, tabs, stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from prsweb.accounts.permissions import actor_of, may_act
from prsweb.dashboard.access import viewer
from prsweb.dashboard.fragments import page_context
from prsweb.dashboard.streams import current_position
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import has_ended, is_cancelling
from runner.core.redis_keys import JobKeys
from runner.core.states import JobKind

# (name of page and URL, word on the tab)
TABS = (
    ("overview", "Overview"),
    ("mini-batches", "Mini-batches"),
    ("nodes", "Nodes"),
    ("resources", "Resources"),
    ("logs", "Logs"),
    ("errors", "Errors"),
    ("config", "Config"),
    ("outputs", "Outputs"),
    ("history", "History"),
)


@dataclass(frozen=True)
class Tab:
    word: str
    url: str
    is_current: bool
    badge: str = ""


def job_page(
    request: HttpRequest, job: Job, page: str, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Render one tab of a job inside its frame."""
    user = viewer(request)
    position = current_position(JobKeys(job.job_id).events)
    query = request.GET.dict()
    actor = actor_of(request)
    frame = {
        "section": "jobs",
        "job": job,
        "tabs": job_tabs(job, page),
        "may_act": may_act(actor, job.owner_id),
        "has_ended": has_ended(job),
        "is_cancelling": is_cancelling(job),
        "stream_url": "" if has_ended(job) else _stream_url(job, page, query, position),
        **page_context(page, job, user, query),
        **context,
    }
    return render(request, template, frame)


def job_tabs(job: Job, current: str) -> list[Tab]:
    tabs = []
    for name, word in TABS:
        if name == "mini-batches" and job.kind != JobKind.PARALLEL_RUN_STEP:
            continue
        url = reverse(f"job-{name}", args=[job.uuid])
        tabs.append(Tab(word, url, name == current, _badge(job, name)))
    return tabs


def _badge(job: Job, name: str) -> str:
    if name == "errors" and job.error_group_count:
        return str(job.error_group_count)
    if name == "mini-batches" and (bad := job.failed_count + job.partial_count):
        return f"{bad:,}"
    return ""


def _stream_url(job: Job, page: str, query: dict[str, str], position: str) -> str:
    members = {**query, "page": page, "at": position}
    return f"{reverse('job-stream', args=[job.uuid])}?{urlencode(members)}"
