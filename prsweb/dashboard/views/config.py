"""What ran, and what happened to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import yaml
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import viewer, with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import visible_jobs


@dataclass(frozen=True)
class ConfigRow:
    key: str
    value: str
    source: str  # "set here", "default", "changed from …"


@require_GET
@with_job
def config(request: HttpRequest, job: Job) -> HttpResponse:
    context = {
        "rows": config_rows(job),
        "as_yaml": yaml.safe_dump(job.spec, sort_keys=False, allow_unicode=True),
    }
    return job_page(request, job, "config", "dashboard/config.html", context)


@require_GET
@with_job
def history(request: HttpRequest, job: Job) -> HttpResponse:
    context = {
        "attempts": job.attempts.order_by("number"),
        "resubmissions": visible_jobs(viewer(request)).filter(resubmitted_from=job)[:100],
    }
    return job_page(request, job, "history", "dashboard/history.html", context)


def config_rows(job: Job) -> list[ConfigRow]:
    """Return every key of the frozen specification, and where its value came from."""
    given = {str(path).split(".")[0].split("[")[0] for path in job.given_keys}
    changed = {change["path"]: change for change in job.changes}
    rows = []
    for key, value in job.spec.items():
        if key in changed:
            source = f"changed, was {_text(changed[key]['old'])}"
        else:
            source = "set here" if key in given else "default"
        rows.append(ConfigRow(key, _text(value), source))
    return rows


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
