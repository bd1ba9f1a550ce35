"""The parts of a job's pages that live: rendered by the page and by the stream alike.

A fragment is one template with one element, whose id is ``fragment-NAME``. The
event stream says what kind of fact came; the fragments that such a fact touches
are rendered again and sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string

from prsweb.accounts.models import User
from prsweb.jobs.filters import ErrorFilter, MiniBatchFilter, tolerant
from prsweb.jobs.headline_texts import headline_of
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.errors import error_groups
from prsweb.jobs.selectors.jobs import is_cancelling, job_folder, recent_events
from prsweb.jobs.selectors.log_names import node_log
from prsweb.jobs.selectors.mini_batches import mini_batch_page
from prsweb.jobs.selectors.nodes import job_nodes
from prsweb.jobs.selectors.overview_log import last_overview_lines
from prsweb.jobs.selectors.processes import STRIP_CELLS, ProcessView, job_processes
from prsweb.jobs.selectors.progress import job_progress

Query = Mapping[str, str]  # the page's own query string
Context = dict[str, Any]

TOP_ERRORS = 3
EVENTS_SHOWN = 20


@dataclass(frozen=True)
class Fragment:
    template: str
    context: Callable[[Job, User, Query], Context]
    facts: frozenset[str]  # kinds of facts that touch it
    ticks: bool = False  # changes with the clock while the job is active


@dataclass(frozen=True)
class StripGroup:
    """The cells of one node."""

    node: str
    cells: tuple[ProcessView, ...]
    ended_count: int  # processes that ended as asked; they are no cells


def render_fragment(name: str, job: Job, user: User, query: Query) -> str:
    """Return the fragment's HTML, one element with the id ``fragment-NAME``."""
    fragment = FRAGMENTS[name]
    context = {"job": job, **fragment.context(job, user, query)}
    return render_to_string(f"dashboard/{fragment.template}", context)


def page_context(page: str, job: Job, user: User, query: Query) -> Context:
    """Return what the templates of all of a page's fragments need."""
    context: Context = {}
    for name in PAGES[page]:
        context |= FRAGMENTS[name].context(job, user, query)
    return context


def touched_fragments(page: str, kinds: Iterable[str]) -> list[str]:
    """Return the page's fragments that facts of these kinds touch, in page order."""
    seen = frozenset(kinds)
    return [name for name in PAGES[page] if FRAGMENTS[name].facts & seen]


def ticking_fragments(page: str) -> list[str]:
    return [name for name in PAGES[page] if FRAGMENTS[name].ticks]


def _head(job: Job, user: User, query: Query) -> Context:
    return {"headline": headline_of(job), "is_cancelling": is_cancelling(job)}


def _progress(job: Job, user: User, query: Query) -> Context:
    return {
        "progress": job_progress(job),
        "overview_lines": last_overview_lines(job_folder(job)),
    }


def _strip(job: Job, user: User, query: Query) -> Context:
    processes = job_processes(job)
    groups: dict[str, list[ProcessView]] = {}
    ended: dict[str, int] = {}
    for process in processes:
        cells = groups.setdefault(process.node, [])
        if process.state == "ended":
            ended[process.node] = ended.get(process.node, 0) + 1
        else:
            cells.append(process)
    return {
        "strip": [
            StripGroup(node, tuple(cells), ended.get(node, 0)) for node, cells in groups.items()
        ],
        "strip_is_folded": len(processes) > STRIP_CELLS,
        "process_count": len(processes),
    }


def _top_errors(job: Job, user: User, query: Query) -> Context:
    groups = error_groups(job, ErrorFilter(limit=TOP_ERRORS)).groups
    return {"top_errors": groups, "error_group_count": job.error_group_count}


def _events(job: Job, user: User, query: Query) -> Context:
    return {"events": recent_events(job, limit=EVENTS_SHOWN)}


def _nodes(job: Job, user: User, query: Query) -> Context:
    return {"job_nodes": [(node, node_log(job, node)) for node in job_nodes(job)]}


def _mini_batches(job: Job, user: User, query: Query) -> Context:
    wanted, left_out = tolerant(MiniBatchFilter, query)
    return {
        "filter": wanted,
        "left_out": left_out,
        "page": mini_batch_page(job, wanted),
        "progress": job_progress(job),
    }


def _errors(job: Job, user: User, query: Query) -> Context:
    wanted, left_out = tolerant(ErrorFilter, query)
    return {"filter": wanted, "left_out": left_out, "page": error_groups(job, wanted)}


FRAGMENTS: dict[str, Fragment] = {
    "head": Fragment(
        "_head.html", _head, frozenset({"state", "progress", "errors", "nodes"}), ticks=True
    ),
    "progress": Fragment("_progress.html", _progress, frozenset({"state", "progress"})),
    "strip": Fragment("_strip.html", _strip, frozenset({"processes", "nodes"}), ticks=True),
    "top_errors": Fragment("_top_errors.html", _top_errors, frozenset({"errors"})),
    "events": Fragment("_events.html", _events, frozenset({"state", "nodes"})),
    "job_nodes": Fragment("_job_nodes.html", _nodes, frozenset({"state", "nodes"})),
    "mini_batches": Fragment(
        "_mini_batches.html", _mini_batches, frozenset({"mini_batches", "state", "progress"})
    ),
    "errors": Fragment("_errors.html", _errors, frozenset({"errors"})),
}

# What each tab holds, from top to bottom.
PAGES: dict[str, tuple[str, ...]] = {
    "overview": ("head", "progress", "strip", "top_errors", "job_nodes", "events"),
    "mini-batches": ("head", "mini_batches"),
    "nodes": ("head", "job_nodes"),
    "errors": ("head", "errors"),
    "resources": ("head",),
    "logs": ("head",),
    "outputs": ("head",),
    "config": ("head",),
    "history": ("head", "events"),
}
