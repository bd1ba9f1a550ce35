"""Nodes: of a job, all of them, one of them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from prsweb.accounts.models import Role
from prsweb.accounts.permissions import actor_of
from prsweb.dashboard.access import viewer, with_job
from prsweb.dashboard.job_frame import job_page
from prsweb.jobs.filters import NodeFilter, tolerant
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.node_counts import node_counts
from prsweb.jobs.selectors.nodes import NoSuchNode, list_nodes, node_view


@require_GET
@with_job
def of_job(request: HttpRequest, job: Job) -> HttpResponse:
    return job_page(request, job, "nodes", "dashboard/job_nodes.html", {})


@require_GET
@login_required
def all_nodes(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/nodes.html", _nodes_context(request))


@require_GET
@login_required
def nodes_fragment(request: HttpRequest) -> HttpResponse:
    """The table alone, polled by its page: beats change it every second."""
    return render(request, "dashboard/_nodes.html", _nodes_context(request))


@require_GET
@login_required
def one_node(request: HttpRequest, name: str) -> HttpResponse:
    try:
        node = node_view(viewer(request), name)
    except NoSuchNode as missing:
        raise Http404(str(missing)) from None
    context = {
        "section": "nodes",
        "node": node,
        "may_operate": actor_of(request).reaches(Role.OPERATOR),
    }
    return render(request, "dashboard/node.html", context)


def _nodes_context(request: HttpRequest) -> dict[str, object]:
    wanted, left_out = tolerant(NodeFilter, request.GET.dict())
    return {
        "section": "nodes",
        "filter": wanted,
        "left_out": left_out,
        "page": list_nodes(viewer(request), wanted),
        "counts": node_counts(viewer(request)),
        "may_operate": actor_of(request).reaches(Role.OPERATOR),
    }
