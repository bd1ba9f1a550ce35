"""Nodes: of a job, all of them, one of them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from prsweb.accounts.models import Role
from prsweb.accounts.permissions import actor_of
from prsweb.dashboard.access import signed_in_for_data, viewer, with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.dashboard.paging import asked_page
from prsweb.jobs.filters import NodeFilter
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.node_counts import node_counts
from prsweb.jobs.selectors.nodes import NoSuchNode, list_nodes, node_view
from runner.core.states import NodeState

DRAINS = (NodeState.DRAINING, NodeState.DRAINED)


@require_GET
@with_job
def of_job(request: HttpRequest, job: Job) -> HttpResponse:
    return job_page(request, job, "nodes", "dashboard/job_nodes.html", {})


@require_GET
@login_required
def all_nodes(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/nodes.html", _nodes_context(request))


@require_GET
@signed_in_for_data
def nodes_fragment(request: HttpRequest) -> HttpResponseBase:
    """The table alone, polled by its page: beats change it every second."""
    return render(request, "dashboard/_nodes.html", _nodes_context(request))


@require_GET
@login_required
def one_node(request: HttpRequest, name: str) -> HttpResponse:
    return render(request, "dashboard/node.html", _node_context(request, name))


@require_GET
@signed_in_for_data
def node_fragment(request: HttpRequest, name: str) -> HttpResponseBase:
    return render(request, "dashboard/_node.html", _node_context(request, name))


def _node_context(request: HttpRequest, name: str) -> dict[str, Any]:
    try:
        node = node_view(viewer(request), name)
    except NoSuchNode as missing:
        raise Http404(str(missing)) from None
    return {
        "section": "nodes",
        "node": node,
        "is_draining": node.state in DRAINS,
        "may_operate": actor_of(request).reaches(Role.OPERATOR),
    }


def _nodes_context(request: HttpRequest) -> dict[str, Any]:
    user = viewer(request)
    asked = asked_page(NodeFilter, request.GET.dict(), lambda wanted: list_nodes(user, wanted))
    return {"section": "nodes", **asked.context(), "nodes": node_counts(user)}
