"""Addresses for programs: the REST API and the health of the server."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path

from prsweb.api.api import api
from prsweb.api.health import healthz, readyz
from prsweb.api.problems import error_answer


def nothing_here(request: HttpRequest) -> HttpResponse:
    """An address below /api that no operation has: the same form as every error."""
    return error_answer(404, "There is nothing at this address.")


urlpatterns = [
    path("api/v1/", api.urls),
    re_path(r"^api/", nothing_here),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
]
