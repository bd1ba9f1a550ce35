"""All addresses: pages, REST API, health."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("prsweb.dashboard.urls")),
    path("", include("prsweb.accounts.urls")),
    path("", include("prsweb.api.urls")),
]
