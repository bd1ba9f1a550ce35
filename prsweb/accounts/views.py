"""Signing in and out."""

from __future__ import annotations

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from prsweb.accounts.audit import audit
from prsweb.accounts.forms import SignInForm
from prsweb.accounts.models import User
from prsweb.accounts.permissions import Actor
from prsweb.accounts.services import SignInLinkRefused, use_sign_in_link

SESSION_BACKEND = "django.contrib.auth.backends.ModelBackend"


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form. django-axes counts failures and locks out; nothing tells whether
    a name exists."""
    goal = _safe_goal(request, request.POST.get("next") or request.GET.get("next"))
    if request.user.is_authenticated:
        return redirect(goal)
    form = SignInForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = authenticate(request, **form.cleaned_data)
        if isinstance(user, User):
            login(request, user)
            audit(_actor(request, user), "sign in", user.get_username())
            return redirect(goal)
        form.add_error(None, "User name and password do not fit together.")
    status = 422 if request.method == "POST" else 200
    context = {"form": form, "next": goal}
    return render(request, "accounts/sign_in.html", context, status=status)


@require_GET
@never_cache
def sign_in_by_link(request: HttpRequest, key: str) -> HttpResponse:
    """Sign in by a link that works once.

    A GET does it, without a button between: the link is printed on the machine
    that the browser runs on, so no scanner of mails opens it first, and one
    click less stands between the first start and the first page.
    """
    try:
        user = use_sign_in_link(key, address=request.META.get("REMOTE_ADDR", ""))
    except SignInLinkRefused as refused:
        if request.user.is_authenticated:  # the same link opened again
            return redirect("/")
        context = {"reason": str(refused)}
        return render(request, "accounts/link_refused.html", context, status=403)
    login(request, user, backend=SESSION_BACKEND)
    return redirect("/")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    if isinstance(request.user, User):
        user = request.user
        audit(_actor(request, user), "sign out", user.get_username())
    logout(request)
    return redirect("sign-in")


def _actor(request: HttpRequest, user: User) -> Actor:
    return Actor(user, address=request.META.get("REMOTE_ADDR", ""))


def _safe_goal(request: HttpRequest, wanted: str | None) -> str:
    """Where to go after signing in: only to a page of this server."""
    is_ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if wanted and is_ours else "/"
