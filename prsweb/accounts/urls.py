"""Addresses of signing in and out."""

from __future__ import annotations

from django.urls import path

from prsweb.accounts import views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/link/<str:key>/", views.sign_in_by_link, name="sign-in-link"),
    path("sign-out/", views.sign_out, name="sign-out"),
]
