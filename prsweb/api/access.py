"""Who calls: a bearer token for the API, a session too for its description."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.security import HttpBearer

from prsweb.accounts.models import Scope
from prsweb.accounts.permissions import Actor
from prsweb.accounts.services import TokenRefused, find_token
from prsweb.api.problems import error_answer
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import get_job


class TokenAuth(HttpBearer):
    """Cookies are never looked at, so no other site can act through a browser."""

    def authenticate(self, request: HttpRequest, token: str) -> Actor | None:
        return actor_of_token(request, token)


def actor_of_token(request: HttpRequest, text: str) -> Actor | None:
    """Return who the token stands for; None for a token that is not valid."""
    try:
        token = find_token(text)
    except TokenRefused:
        return None
    return Actor(
        token.user,
        address=request.META.get("REMOTE_ADDR", ""),
        token_name=token.name,
        scope=Scope(token.scope),
    )


def caller(request: HttpRequest) -> Actor:
    """Return who calls an operation that ``TokenAuth`` has let in."""
    actor = request.auth  # type: ignore[attr-defined]
    assert isinstance(actor, Actor)
    return actor


def job_of(request: HttpRequest, job_id: str) -> Job:
    """Return the job if the caller may see it, or raise NoSuchJob."""
    return get_job(caller(request).user, job_id)


def session_or_token(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let in a signed-in session, or a token; answer 401 to everybody else."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated or TokenAuth()(request):
            return view(request, *args, **kwargs)
        return error_answer(401, "Sign in, or send Authorization: Bearer TOKEN.")

    return checked
