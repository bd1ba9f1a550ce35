"""What buttons do. Each finds, calls one service, and leads back."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from prsweb.accounts.permissions import NotAllowed, actor_of
from prsweb.dashboard.access import with_job
from prsweb.jobs.models import Job, Node
from prsweb.jobs.selectors.nodes import NoSuchNode, get_node
from prsweb.jobs.services.cancellation import CannotCancel, cancel_job
from prsweb.jobs.services.nodes import CannotDrain, drain_node, undrain_node

DEFAULT_REASON = "cancelled from the job page"
REASON_CHARACTERS = 1024


@require_POST
@with_job
def cancel(request: HttpRequest, job: Job) -> HttpResponse:
    reason = request.POST.get("reason", "").strip()[:REASON_CHARACTERS] or DEFAULT_REASON
    try:
        cancel_job(job=job, actor=actor_of(request), reason=reason)
    except NotAllowed as refused:
        return _refused(request, str(refused))
    except CannotCancel as refused:
        messages.error(request, str(refused))
    return redirect("job-overview", job.uuid)


@require_POST
@login_required
def drain(request: HttpRequest, name: str) -> HttpResponse:
    return _change_node(request, name, drain_node)


@require_POST
@login_required
def undrain(request: HttpRequest, name: str) -> HttpResponse:
    return _change_node(request, name, undrain_node)


def _change_node(request: HttpRequest, name: str, service: Callable[..., Node]) -> HttpResponse:
    try:
        service(node=get_node(name), actor=actor_of(request))
    except NoSuchNode as missing:
        raise Http404(str(missing)) from None
    except NotAllowed as refused:
        return _refused(request, str(refused))
    except CannotDrain as refused:
        messages.error(request, str(refused))
    return redirect("node", name)


def _refused(request: HttpRequest, sentence: str) -> HttpResponse:
    return render(request, "403.html", {"sentence": sentence}, status=403)
