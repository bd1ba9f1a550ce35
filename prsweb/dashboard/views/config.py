"""What ran, and what happened to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from prsweb.dashboard.access import viewer, with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.dashboard.masking import masked
from prsweb.dashboard.setting_fields import SettingField, setting_fields, value_text
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import visible_jobs


@dataclass(frozen=True)
class ConfigRow:
    path: str
    value: str
    is_set: bool  # by the submitter, not a default
    old: str | None  # of the job it was resubmitted from, where it differs
    help_text: str


@require_GET
@with_job
def config(request: HttpRequest, job: Job) -> HttpResponse:
    rows = config_rows(job)
    context = {
        "set_rows": [row for row in rows if row.is_set or row.old is not None],
        "default_rows": [row for row in rows if not row.is_set and row.old is None],
        "as_yaml": yaml.safe_dump(
            _without_empty(masked(job.spec)),
            sort_keys=False,
            allow_unicode=True,
        ),
    }
    return job_page(request, job, "config", "dashboard/config.html", context)


@require_GET
@with_job
def history(request: HttpRequest, job: Job) -> HttpResponse:
    again = visible_jobs(viewer(request)).filter(resubmitted_from=job).order_by("-number")
    context = {
        "attempts": job.attempts.order_by("number"),
        "resubmissions": again[:100],
        "changes": [change_row(change) for change in job.changes],
    }
    return job_page(request, job, "history", "dashboard/history.html", context)


def config_rows(job: Job) -> list[ConfigRow]:
    """Return every value of the frozen specification, and where it came from."""
    given = {str(path) for path in job.given_keys}
    old = {change["path"]: change_row(change)["old"] for change in job.changes}
    return [
        ConfigRow(
            path=one.path,
            value=one.text,
            is_set=_is_set(one, given),
            old=old.get(one.path),
            help_text=one.key.help_text,
        )
        for one in setting_fields(job.kind, masked(job.spec))
    ]


def _is_set(one: SettingField, given: set[str]) -> bool:
    """Whether the submitter wrote the value; of what lies in a value that was given
    as a whole, what is not the default."""
    if any(_holds(one.path, path) for path in given):
        return True
    return one.text != one.default_text and any(_holds(path, one.path) for path in given)


def change_row(change: Mapping[str, Any]) -> dict[str, str]:
    path = str(change["path"])
    name = path.rpartition(".")[2]
    return {
        "path": path,
        "old": value_text(masked(change["old"], name), ""),
        "new": value_text(masked(change["new"], name), ""),
    }


def _without_empty(spec: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a job file need not say: keys without value, and our own."""
    return {
        key: [_without_empty(one) if isinstance(one, dict) else one for one in value]
        if isinstance(value, list)
        else _without_empty(value)
        if isinstance(value, dict)
        else value
        for key, value in spec.items()
        if value not in (None, {}, []) and key != "bindings"
    }


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))
