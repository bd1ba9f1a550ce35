"""The job list, the first screen."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from prsweb.accounts.models import Role
from prsweb.accounts.permissions import actor_of
from prsweb.dashboard.access import viewer
from prsweb.dashboard.job_rows import ListMoment, counters, job_row
from prsweb.dashboard.paging import asked_page
from prsweb.jobs.filters import JobFilter
from prsweb.jobs.selectors.jobs import job_list, visible_jobs

STATE_CHOICES = ("waiting", "running", "succeeded", "failed", "cancelled")
AGE_CHOICES = (("24h", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days"))


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
    moment = ListMoment.now()
    asked = asked_page(JobFilter, request.GET.dict(), lambda wanted: job_list(user, wanted))
    wanted, page = asked.filter, asked.page
    rows = [job_row(job) for job in page.jobs]
    context = {
        "section": "jobs",
        **asked.context(),
        "rows": rows,
        **counters(user),
        "state_choices": STATE_CHOICES,
        "age_choices": AGE_CHOICES,
        "next_query": urlencode(wanted.query(after=page.next)) if page.next else "",
        "first_query": urlencode(wanted.query(after=None)) if wanted.after else None,
        "all_count": 0 if rows else visible_jobs(user).count(),
        "may_submit": actor_of(request).reaches(Role.SUBMITTER),
        "stream_url": f"{reverse('jobs-stream')}?{urlencode(moment.stream_query(rows))}",
    }
    return render(request, "dashboard/jobs.html", context)
