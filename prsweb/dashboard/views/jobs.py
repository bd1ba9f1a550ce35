"""The job list, the first screen."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import viewer
from prsweb.dashboard.job_rows import job_row
from prsweb.dashboard.streams import current_position
from prsweb.jobs.filters import JobFilter, tolerant
from prsweb.jobs.selectors.jobs import job_counts, job_list, visible_jobs
from prsweb.jobs.selectors.node_counts import node_counts
from runner.core.redis_keys import ALL_EVENTS

STATE_CHOICES = ("waiting", "running", "succeeded", "failed", "cancelled")


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Lead to one's own jobs of the week; a person without jobs sees everybody's."""
    has_own = visible_jobs(viewer(request)).filter(owner=viewer(request)).exists()
    query = "?owner=me&since=7d" if has_own else ""
    return redirect(reverse("jobs") + query)


@require_GET
@login_required
def job_list_page(request: HttpRequest) -> HttpResponse:
    user = viewer(request)
    position = current_position(ALL_EVENTS)
    wanted, left_out = tolerant(JobFilter, request.GET.dict())
    page = job_list(user, wanted)
    rows = [job_row(job) for job in page.jobs]
    stream = {"at": position, "rows": ",".join(row.job.job_id for row in rows)}
    context = {
        "section": "jobs",
        "filter": wanted,
        "left_out": left_out,
        "rows": rows,
        "counts": job_counts(user, failed_since=timezone.now() - timedelta(hours=24)),
        "nodes": node_counts(user),
        "state_choices": STATE_CHOICES,
        "next_query": urlencode(wanted.query(after=page.next)) if page.next else "",
        "first_query": urlencode(wanted.query(after=None)) if wanted.after else None,
        "has_any": bool(rows) or visible_jobs(user).exists(),
        "stream_url": f"{reverse('jobs-stream')}?{urlencode(stream)}",
    }
    return render(request, "dashboard/jobs.html", context)
