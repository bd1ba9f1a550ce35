"""What buttons do. Each finds, calls one service, and leads back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from prsweb.accounts.permissions import NotAllowed, actor_of
from prsweb.dashboard.access import with_job
from prsweb.jobs.models import Job, Node
from prsweb.jobs.selectors.nodes import NoSuchNode, get_node
from prsweb.jobs.services.cancellation import CannotCancel, cancel_job
from prsweb.jobs.services.nodes import CannotDrain, drain_node, undrain_node

DEFAULT_REASON = "cancelled from the job page"


@require_POST
@with_job
def cancel(request: HttpRequest, job: Job) -> HttpResponse:
    reason = request.POST.get("reason", "").strip() or DEFAULT_REASON
    try:
        cancel_job(job=job, actor=actor_of(request), reason=reason)
    except (CannotCancel, NotAllowed) as refused:
        messages.error(request, str(refused))
    return redirect("job-overview", job.uuid)


@require_POST
@login_required
def drain(request: HttpRequest, name: str) -> HttpResponse:
    try:
        drain_node(node=_node(name), actor=actor_of(request))
    except (CannotDrain, NotAllowed) as refused:
        messages.error(request, str(refused))
    return redirect("node", name)


@require_POST
@login_required
def undrain(request: HttpRequest, name: str) -> HttpResponse:
    try:
        undrain_node(node=_node(name), actor=actor_of(request))
    except (CannotDrain, NotAllowed) as refused:
        messages.error(request, str(refused))
    return redirect("node", name)


def _node(name: str) -> Node:
    try:
        return get_node(name)
    except NoSuchNode as missing:
        raise Http404(str(missing)) from None
