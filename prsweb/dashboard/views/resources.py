"""What nodes and processes use: charts from the samples in the database."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import with_job
from prsweb.dashboard.charts import series_figure
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.filters import SampleQuery
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.samples import METRICS, NoSuchProcess, job_samples

CHARTS = (
    ("cpu", "CPU of nodes", ""),
    ("memory", "Memory of nodes", ""),
    ("cpu", "CPU of processes", "all"),
    ("memory", "Memory of processes", "all"),
)


@require_GET
@with_job
def page(request: HttpRequest, job: Job) -> HttpResponse:
    context = {"charts": CHARTS, "metrics": tuple(METRICS)}
    return job_page(request, job, "resources", "dashboard/resources.html", context)


@require_GET
@with_job
def chart(request: HttpRequest, job: Job) -> HttpResponse:
    """One chart as plotly's JSON: lines of means, with the maximum of each bucket."""
    members = {key: value for key, value in request.GET.dict().items() if value}
    try:
        samples = job_samples(job, SampleQuery.model_validate(members))
    except NoSuchProcess as missing:
        return JsonResponse({"error": str(missing)}, status=404)
    except ValueError as error:
        return JsonResponse({"error": str(error)}, status=422)
    return HttpResponse(series_figure(samples), content_type="application/json")
