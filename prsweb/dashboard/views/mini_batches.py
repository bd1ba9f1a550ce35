"""The mini-batches of a job: the table, and one by itself."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.filters import MiniBatchFilter, tolerant
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.mini_batches import NoSuchMiniBatch, mini_batch
from prsweb.jobs.selectors.try_logs import try_log_places

STATE_CHOICES = ("waiting", "retrying", "succeeded", "partial", "failed", "unfinished")


@require_GET
@with_job
def table(request: HttpRequest, job: Job) -> HttpResponse:
    wanted, _ = tolerant(MiniBatchFilter, request.GET.dict())
    choices = [("", "All", urlencode(wanted.query(state=None)))]
    choices += [
        (word, word.replace("_", " ").capitalize(), urlencode(wanted.query(state=word)))
        for word in STATE_CHOICES
    ]
    context = {"state_choices": choices, "filter": wanted}
    return job_page(request, job, "mini-batches", "dashboard/mini_batches.html", context)


@require_GET
@with_job
def one(request: HttpRequest, job: Job, index: int) -> HttpResponse:
    try:
        found = mini_batch(job, index)
    except NoSuchMiniBatch as missing:
        raise Http404(str(missing)) from None
    places = try_log_places(job, index, found.try_list)
    context = {
        "mini_batch": found,
        "tries": [(one, places.get(one.number, [])) for one in found.try_list],
    }
    return job_page(request, job, "mini-batches", "dashboard/mini_batch.html", context)
