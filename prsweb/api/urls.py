"""Addresses for programs: the REST API and the health of the server."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
