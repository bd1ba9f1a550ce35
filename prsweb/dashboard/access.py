"""Finding a job for a page: somebody else's private job is 404, as one that is not there."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from prsweb.accounts.models import User
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import NoSuchJob, get_job

P = ParamSpec("P")


def viewer(request: HttpRequest) -> User:
    """Return who looks; every page sits behind ``login_required``."""
    assert isinstance(request.user, User)
    return request.user


def with_job(
    view: Callable[Concatenate[HttpRequest, Job, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, uuid.UUID, P], HttpResponseBase]:
    """Give ``view`` the job of the URL, if the viewer may see it; else 404."""

    @wraps(view)
    def found(
        request: HttpRequest, job_id: uuid.UUID, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        try:
            job = get_job(viewer(request), str(job_id))
        except NoSuchJob as missing:
            raise Http404(str(missing)) from None
        return view(request, job, *args, **kwargs)

    return login_required(found)


def signed_in_for_data(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Answer 401 where a page would be led to the sign-in form: a script asks."""

    @wraps(view)
    def found(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return HttpResponse(status=401)
        return view(request, *args, **kwargs)

    return found
