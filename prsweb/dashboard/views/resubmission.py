"""The form that changes an earlier job: fields, differences, one new job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from prsweb.accounts.permissions import Actor, actor_of, require_owner_or_operator
from prsweb.dashboard.own_failures import check_of_files
from prsweb.dashboard.sent_once import SENT_BEFORE, key_of, new_once, once_of
from prsweb.dashboard.setting_fields import (
    SettingField,
    changed_values,
    setting_fields,
    value_text,
    with_entries,
    with_problems,
)
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import has_ended
from prsweb.jobs.services.resubmission import (
    CannotResubmit,
    check_resubmission,
    resubmit_job,
)
from prsweb.jobs.services.submission import InvalidJob, JobCheck, KeyUsedBefore
from runner.core.problems import Problem
from runner.core.specs import changed_fields, resubmission_base


@dataclass(frozen=True)
class Difference:
    path: str
    old: str
    new: str
    follows: bool  # not typed by the person: derived from what was


def resubmission(request: HttpRequest, job: Job) -> HttpResponse:
    """Answer the form. Raises NotAllowed."""
    actor = actor_of(request)
    require_owner_or_operator(actor, job.owner_id, "run this job again")
    fields = setting_fields(job.kind, resubmission_base(job.spec))
    if request.method == "GET":
        return _page(request, job, fields, None)
    fields = with_entries(fields, _entered(request))
    if request.POST.get("action") != "submit":
        return _page(request, job, fields, _check(job, actor, fields))
    try:
        new = resubmit_job(
            job=job,
            actor=actor,
            set_values=changed_values(fields),
            idempotency_key=key_of(once_of(request)),
        )
    except InvalidJob as invalid:
        return _page(request, job, fields, JobCheck(None, (), invalid.problems))
    except CannotResubmit as refused:
        check = JobCheck(None, (), (Problem("", str(refused)),))
        return _page(request, job, fields, check)
    except KeyUsedBefore:
        check = JobCheck(None, (), (Problem("", SENT_BEFORE),))
        return _page(request, job, fields, check, once=new_once(), status=409)
    except OSError as error:
        return _page(request, job, fields, check_of_files(error), status=503)
    return redirect("job-overview", new.uuid)


def _check(job: Job, actor: Actor, fields: Sequence[SettingField]) -> JobCheck:
    try:
        return check_resubmission(job=job, actor=actor, set_values=changed_values(fields))
    except CannotResubmit as refused:
        return JobCheck(None, (), (Problem("", str(refused)),))
    except OSError as error:
        return check_of_files(error)


def _page(
    request: HttpRequest,
    job: Job,
    fields: Sequence[SettingField],
    check: JobCheck | None,
    *,
    once: str = "",
    status: int | None = None,
) -> HttpResponse:
    problems = check.problems if check else ()
    fields, other_problems = with_problems(fields, problems)
    further = [one for one in fields if not one.is_offered]
    context = {
        "section": "jobs",
        "job": job,
        "offered": [one for one in fields if one.is_offered],
        "further": further,
        "further_is_open": any(one.is_changed or one.problems for one in further),
        "check": check,
        "other_problems": other_problems,
        "problem_count": len(problems),
        "differences": _differences(job, fields, check),
        "has_ended": has_ended(job),
        "once": once or once_of(request),
    }
    status = status or (422 if problems else 200)
    return render(request, "dashboard/job_again.html", context, status=status)


def _differences(
    job: Job, fields: Sequence[SettingField], check: JobCheck | None
) -> list[Difference]:
    """What the new job would differ in; before it could be read, what was typed."""
    typed = {one.path: one for one in fields if one.is_changed}
    if check is None or check.spec is None:
        return [Difference(one.path, one.text, one.entered, False) for one in typed.values()]
    return [
        Difference(
            change.path,
            value_text(change.old, ""),
            value_text(change.new, ""),
            follows=not any(change.path.startswith(path) for path in typed),
        )
        for change in changed_fields(job.spec, check.spec)
    ]


def _entered(request: HttpRequest) -> dict[str, str]:
    return {
        name.removeprefix("set:"): str(text)
        for name, text in request.POST.items()
        if name.startswith("set:")
    }
