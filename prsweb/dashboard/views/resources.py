"""What nodes and processes use: charts from the samples in the database."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET
from pydantic import ValidationError

from prsweb.dashboard.access import signed_in_for_data, with_job
from prsweb.dashboard.charts import series_figure
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.filters import SampleQuery
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import has_ended
from prsweb.jobs.selectors.samples import NoSuchProcess, job_samples
from runner.core.states import JobKind


@dataclass(frozen=True)
class Chart:
    title: str
    meaning: str  # what the values are
    query: str


NODE_CHARTS = (
    Chart("CPU, nodes", "100 % is one CPU", "metric=cpu"),
    Chart(
        "Memory, nodes", "resident memory, the highest value of each interval", "metric=memory"
    ),
    Chart("Network received, nodes", "bytes per second", "metric=received"),
    Chart("Disk written, nodes", "bytes per second", "metric=written"),
)
PROCESS_CHARTS = (
    Chart("CPU, processes", "100 % is one CPU", "metric=cpu&process=all"),
    Chart(
        "Memory, processes",
        "resident memory, the highest value of each interval",
        "metric=memory&process=all",
    ),
)


@require_GET
@with_job
def page(request: HttpRequest, job: Job) -> HttpResponse:
    has_processes = job.kind == JobKind.PARALLEL_RUN_STEP
    charts = NODE_CHARTS[:2] + (PROCESS_CHARTS if has_processes else ()) + NODE_CHARTS[2:]
    context = {
        "charts": charts,
        "has_ended": has_ended(job),
        "interval_seconds": job.spec.get("sample_interval") or 5,
    }
    return job_page(request, job, "resources", "dashboard/resources.html", context)


@require_GET
@signed_in_for_data
@with_job
def chart(request: HttpRequest, job: Job) -> HttpResponse:
    """One chart as plotly's JSON: lines of means, with the maximum of each bucket."""
    members = {key: value for key, value in request.GET.dict().items() if value}
    try:
        samples = job_samples(job, SampleQuery.model_validate(members))
    except NoSuchProcess as missing:
        return JsonResponse({"error": str(missing)}, status=404)
    except ValidationError as error:
        first = error.errors()[0]
        return JsonResponse({"error": f"{first['loc'][0]}: {first['msg']}"}, status=422)
    return HttpResponse(series_figure(samples), content_type="application/json")
