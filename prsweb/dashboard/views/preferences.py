"""How a person wants to see the pages, kept in cookies."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from prsweb.dashboard.templatetags.page_tags import theme_name

YEAR_SECONDS = 365 * 24 * 3600


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}):
        target = "/"
    response = redirect(target)
    response.set_cookie(
        "theme", theme_name(request.POST.get("theme")), max_age=YEAR_SECONDS, samesite="Lax"
    )
    return response
