"""Addresses for programs: the REST API and the health of the server."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt

from prsweb.api.api import api
from prsweb.api.health import healthz, readyz
from prsweb.api.problems import error_answer


@csrf_exempt  # no cookie is looked at, and a wrong address is no forgery
def nothing_here(request: HttpRequest) -> HttpResponse:
    """An address below /api that no operation has: the same form as every error."""
    return error_answer(404, "There is nothing at this address.")


def in_our_form(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a view of the API: what it answers by itself has the form of every error,
    and no operation meets a NUL, which a database cannot look for."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return error_answer(400, "The address holds the character U+0000.")
        response = view(request, *args, **kwargs)
        if not isinstance(response, HttpResponseNotAllowed):
            return response
        methods = ", ".join(sorted(response["Allow"].split(", ")))
        answer = error_answer(405, f"This address takes {methods} only.")
        answer["Allow"] = methods
        return answer

    return answered


def _api_urls() -> Any:
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            pattern.callback = in_our_form(pattern.callback)
    return patterns, app_name, namespace


urlpatterns = [
    path("api/v1/", nothing_here),  # NinjaAPI has a page of its own there
    path("api/v1/", _api_urls()),
    re_path(r"^api/", nothing_here),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
]
