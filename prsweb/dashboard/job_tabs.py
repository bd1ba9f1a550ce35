"""The tabs of a job."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from prsweb.jobs.models import Job
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
ONE_OF = {"mini-batch": "mini-batches", "error": "errors"}  # pages that stand under a tab


@dataclass(frozen=True)
class Tab:
    name: str
    word: str
    url: str
    is_current: bool
    badge: str  # "" for none
    badge_meaning: str  # for a screen reader


def job_tabs(job: Job, page: str) -> list[Tab]:
    """Return the tabs that a job of its kind has; ``page`` is the one that is open."""
    current = ONE_OF.get(page, page)
    tabs = []
    for name, word in TABS:
        if name == "mini-batches" and job.kind != JobKind.PARALLEL_RUN_STEP:
            continue
        badge, meaning = _badge(job, name)
        url = reverse(f"job-{name}", args=[job.uuid])
        tabs.append(Tab(name, word, url, name == current, badge, meaning))
    return tabs


def _badge(job: Job, name: str) -> tuple[str, str]:
    bad = job.failed_count + job.partial_count
    if name == "mini-batches" and bad:
        return f"{bad:,}", "failed or partial"
    if name == "errors" and job.error_group_count:
        return f"{job.error_group_count:,}", "different errors"
    return "", ""
