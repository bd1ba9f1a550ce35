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
from prsweb.accounts.permissions import Actor, may_act
from prsweb.dashboard.job_tabs import job_tabs
from prsweb.dashboard.paging import asked_page
from prsweb.dashboard.strip import strip_of
from prsweb.jobs.filters import ErrorFilter, MiniBatchFilter
from prsweb.jobs.headline_texts import headline_of
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.errors import error_groups, top_error_groups
from prsweb.jobs.selectors.jobs import has_ended, is_cancelling, recent_events
from prsweb.jobs.selectors.mini_batches import mini_batch_page
from prsweb.jobs.selectors.nodes import job_nodes
from prsweb.jobs.selectors.overview_log import overview_log
from prsweb.jobs.selectors.progress import job_progress

Context = dict[str, Any]

TOP_ERRORS = 3
EVENTS_SHOWN = 20
NODES_ON_OVERVIEW = 20
NODES_SHOWN = 100


@dataclass(frozen=True)
class PageView:
    """One person's look at one page of a job."""

    page: str  # a key of PAGES
    job: Job
    user: User
    query: Mapping[str, str]  # the page's own query string


@dataclass(frozen=True)
class Fragment:
    template: str
    context: Callable[[PageView], Context]
    facts: frozenset[str]  # kinds of facts that touch it
    ticks: bool = False  # changes with the clock while the job is active
    is_shared: bool = True  # the same for everybody who may see the job


def render_fragment(name: str, view: PageView) -> str:
    """Return the fragment's HTML, one element with the id ``fragment-NAME``."""
    fragment = FRAGMENTS[name]
    context = {"job": view.job, **fragment.context(view)}
    return render_to_string(f"dashboard/{fragment.template}", context)


def page_context(view: PageView) -> Context:
    """Return what the templates of all of a page's fragments need."""
    context: Context = {}
    for name in fragments_of(view.page):
        context |= FRAGMENTS[name].context(view)
    return context


def fragments_of(page: str) -> tuple[str, ...]:
    return (*FRAME, *PAGES[page])


def touched_fragments(page: str, kinds: Iterable[str], *, is_tick: bool) -> list[str]:
    """Return the page's fragments that facts of these kinds touch, in page order."""
    seen = frozenset(kinds)
    return [
        name
        for name in fragments_of(page)
        if FRAGMENTS[name].facts & seen or (is_tick and FRAGMENTS[name].ticks)
    ]


def _head(view: PageView) -> Context:
    return {"headline": headline_of(view.job), "is_cancelling": is_cancelling(view.job)}


def _actions(view: PageView) -> Context:
    return {
        "may_act": may_act(Actor(view.user), view.job.owner_id),
        "has_ended": has_ended(view.job),
        "is_cancelling": is_cancelling(view.job),
    }


def _tabs(view: PageView) -> Context:
    return {"tabs": job_tabs(view.job, view.page)}


def _progress(view: PageView) -> Context:
    return {"progress": job_progress(view.job), "has_ended": has_ended(view.job)}


def _overview_log(view: PageView) -> Context:
    return {"overview_log": overview_log(view.job)}


def _strip(view: PageView) -> Context:
    return {"strip": strip_of(view.job)}


def _top_errors(view: PageView) -> Context:
    return {"top_errors": top_error_groups(view.job, limit=TOP_ERRORS)}


def _events(view: PageView) -> Context:
    return {"events": recent_events(view.job, limit=EVENTS_SHOWN)}


def _nodes(view: PageView) -> Context:
    nodes = job_nodes(view.job)
    most = NODES_ON_OVERVIEW if view.page == "overview" else NODES_SHOWN
    first = _first_node(view.query) if view.page == "nodes" else 0
    following = first + most
    return {
        "job_nodes": nodes[first:following],
        "job_node_count": len(nodes),
        "first_node": first,
        "following_node": following if following < len(nodes) else None,
    }


def _first_node(query: Mapping[str, str]) -> int:
    """Return at which node a page of them begins; by ``first`` of the query."""
    text = query.get("first", "")
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _mini_batches(view: PageView) -> Context:
    asked = asked_page(
        MiniBatchFilter, view.query, lambda wanted: mini_batch_page(view.job, wanted)
    )
    return {**asked.context(), "progress": job_progress(view.job)}


def _errors(view: PageView) -> Context:
    return asked_page(
        ErrorFilter, view.query, lambda wanted: error_groups(view.job, wanted)
    ).context()


FRAGMENTS: dict[str, Fragment] = {
    "head": Fragment(
        "_head.html", _head, frozenset({"state", "progress", "errors", "nodes"}), ticks=True
    ),
    "actions": Fragment(
        "_actions.html", _actions, frozenset({"state"}), ticks=True, is_shared=False
    ),
    "tabs": Fragment(
        "_tabs.html", _tabs, frozenset({"state", "progress", "errors"}), is_shared=False
    ),
    "progress": Fragment("_progress.html", _progress, frozenset({"state", "progress"})),
    "overview_log": Fragment(
        "_overview_log.html",
        _overview_log,
        frozenset({"state", "progress", "log"}),
        ticks=True,
    ),
    "strip": Fragment(
        "_strip.html", _strip, frozenset({"state", "processes", "nodes"}), ticks=True
    ),
    "top_errors": Fragment("_top_errors.html", _top_errors, frozenset({"errors", "state"})),
    "events": Fragment("_events.html", _events, frozenset({"state", "nodes"})),
    "job_nodes": Fragment(
        "_job_nodes.html", _nodes, frozenset({"state", "nodes"}), is_shared=False
    ),
    "mini_batches": Fragment(
        "_mini_batches.html",
        _mini_batches,
        frozenset({"mini_batches", "state", "progress"}),
        is_shared=False,
    ),
    "errors": Fragment(
        "_errors.html", _errors, frozenset({"errors", "state"}), is_shared=False
    ),
}

FRAME = ("head", "actions", "tabs")  # stands on every page of a job

# What each tab holds, from top to bottom.
PAGES: dict[str, tuple[str, ...]] = {
    "overview": ("progress", "overview_log", "strip", "top_errors", "job_nodes", "events"),
    "mini-batches": ("mini_batches",),
    "mini-batch": (),
    "nodes": ("job_nodes",),
    "errors": ("errors",),
    "error": (),
    "resources": (),
    "logs": (),
    "outputs": (),
    "config": (),
    "history": ("events",),
}
