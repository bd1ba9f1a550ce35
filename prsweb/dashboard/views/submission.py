"""Submitting a job: a job file pasted or uploaded, or an earlier job with changes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prsweb.accounts.models import Role
from prsweb.accounts.permissions import NotAllowed, actor_of
from prsweb.dashboard.access import viewer
from prsweb.dashboard.resubmit_form import FormField, changed_values, form_fields
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import NoSuchJob, get_job
from prsweb.jobs.services.resubmission import CannotResubmit, check_resubmission, resubmit_job
from prsweb.jobs.services.submission import InvalidJob, Submission, check_job, submit_job
from runner.core.problems import InvalidSpec, Problem
from runner.core.specs import changed_fields, load_job_file

MOST_FILE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Check:
    """What the form's values would become."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    changes: tuple[dict[str, Any], ...]


@require_http_methods(["GET", "POST"])
@login_required
def new_job(request: HttpRequest) -> HttpResponse:
    if request.GET.get("from"):
        return _resubmit(request, request.GET["from"])
    return _submit(request)


def _submit(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {
        "section": "jobs",
        "may_submit": actor_of(request).reaches(Role.SUBMITTER),
        "one_time_key": secrets.token_hex(16),
        "text": "",
    }
    if request.method == "POST":
        text = _given_text(request)
        context["text"] = text
        try:
            submission = Submission(
                raw_spec=load_job_file(text), idempotency_key=_one_time_key(request)
            )
            if "submit" in request.POST:
                job = submit_job(submission=submission, actor=actor_of(request))
                return redirect("job-overview", job.uuid)
            context["check"] = check_job(submission=submission, actor=actor_of(request))
        except (InvalidJob, InvalidSpec) as invalid:
            context["problems"] = invalid.problems
        except NotAllowed as refused:
            context["problems"] = [Problem("", str(refused))]
    status = 422 if context.get("problems") else 200
    return render(request, "dashboard/submit.html", context, status=status)


def _given_text(request: HttpRequest) -> str:
    """Return the uploaded file's text, else what was pasted."""
    upload = request.FILES.get("file")
    if upload is not None:
        return upload.read(MOST_FILE_BYTES + 1).decode("utf-8", "replace")
    return request.POST.get("text", "")


def _resubmit(request: HttpRequest, job_id: str) -> HttpResponse:
    try:
        job = get_job(viewer(request), job_id)
    except NoSuchJob as missing:
        raise Http404(str(missing)) from None
    fields = form_fields(job.spec, request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {
        "section": "jobs",
        "old": job,
        "one_time_key": request.POST.get("one_time_key") or secrets.token_hex(16),
    }
    if request.method == "POST":
        values = changed_values(job.spec, fields)
        if "submit" in request.POST:
            try:
                new = resubmit_job(
                    job=job,
                    actor=actor_of(request),
                    set_values=values,
                    idempotency_key=_one_time_key(request),
                )
                return redirect("job-overview", new.uuid)
            except InvalidJob as invalid:
                context["check"] = Check(invalid.problems, (), ())
            except (CannotResubmit, NotAllowed) as refused:
                context["check"] = Check((Problem("", str(refused)),), (), ())
        else:
            context["check"] = _checked(job, request, values)
    fields = _with_problems(fields, context.get("check"))
    context["offered"] = [field for field in fields if field.is_offered]
    context["others"] = [field for field in fields if not field.is_offered]
    has_problems = bool(context.get("check") and context["check"].problems)
    context["others_open"] = any(f.problem or f.is_changed for f in context["others"])
    status = 422 if has_problems else 200
    return render(request, "dashboard/resubmit.html", context, status=status)


def _checked(job: Job, request: HttpRequest, values: dict[str, Any]) -> Check:
    """Return what these values would make; the difference is of what would really run."""
    try:
        found = check_resubmission(job=job, actor=actor_of(request), set_values=values)
    except (CannotResubmit, NotAllowed) as refused:
        return Check((Problem("", str(refused)),), (), ())
    changes = changed_fields(job.spec, found.spec) if found.spec else []
    shown = tuple(change.to_dict() for change in changes if change.path != "bindings")
    return Check(found.problems, found.warnings, shown)


def _with_problems(fields: list[FormField], check: Check | None) -> list[FormField]:
    if check is None:
        return fields
    by_key = {problem.path.split(".")[0].split("[")[0]: problem for problem in check.problems}
    return [field.with_problem(by_key.get(field.path.split(".")[0])) for field in fields]


def _one_time_key(request: HttpRequest) -> str | None:
    """A double click or a reload sends the same key, and makes one job."""
    return request.POST.get("one_time_key", "")[:64] or None
