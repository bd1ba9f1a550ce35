"""Submitting a job from a job file, and a changed one from an earlier job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO, cast

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from prsweb.accounts.models import Role
from prsweb.accounts.permissions import NotAllowed, actor_of, require_role
from prsweb.dashboard.access import viewer
from prsweb.dashboard.own_failures import check_of_files
from prsweb.dashboard.sent_once import SENT_BEFORE, key_of, new_once, once_of
from prsweb.dashboard.views.resubmission import resubmission
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import NoSuchJob, get_job
from prsweb.jobs.services.snapshot import SourceArchive, SourceTooLarge
from prsweb.jobs.services.submission import (
    InvalidJob,
    JobCheck,
    KeyUsedBefore,
    Submission,
    check_job,
    submit_job,
)
from runner.core.problems import InvalidSpec, Problem
from runner.core.specs import load_job_file

FILE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class NewJobForm:
    """What stands in the form."""

    text: str
    is_private: bool
    once: str  # one-time key: sent twice, it still makes one job

    @classmethod
    def of(cls, request: HttpRequest) -> NewJobForm:
        return cls(_job_text(request), request.POST.get("private") == "on", once_of(request))


@require_http_methods(["GET", "POST"])
@login_required
def new_job(request: HttpRequest) -> HttpResponse:
    """The form; with ``?from=ID`` the one that changes an earlier job."""
    try:
        require_role(actor_of(request), Role.SUBMITTER, "submit a job")
        if earlier := request.GET.get("from"):
            return resubmission(request, _job(request, earlier))
        return _from_file(request)
    except NotAllowed as refused:
        return render(request, "403.html", {"sentence": str(refused)}, status=403)


def _from_file(request: HttpRequest) -> HttpResponse:
    form = NewJobForm.of(request)
    if request.method == "GET":
        return _page(request, form, None)
    try:
        submission = _submission(request, form)
        if request.POST.get("action") == "submit":
            job = submit_job(submission=submission, actor=actor_of(request))
            return redirect("job-overview", job.uuid)
        check = check_job(submission=submission, actor=actor_of(request))
    except (InvalidSpec, InvalidJob) as invalid:
        check = JobCheck(None, (), tuple(invalid.problems))
    except SourceTooLarge as error:
        check = JobCheck(None, (), (Problem("source", str(error)),))
    except KeyUsedBefore:
        check = JobCheck(None, (), (Problem("", SENT_BEFORE),))
        return _page(request, replace(form, once=new_once()), check, status=409)
    except OSError as error:
        return _page(request, form, check_of_files(error), status=503)
    return _page(request, form, check)


def _page(
    request: HttpRequest, form: NewJobForm, check: JobCheck | None, *, status: int | None = None
) -> HttpResponse:
    context = {"section": "jobs", "form": form, "check": check}
    status = status or (422 if check is not None and check.problems else 200)
    return render(request, "dashboard/job_new.html", context, status=status)


def _submission(request: HttpRequest, form: NewJobForm) -> Submission:
    """Return what the form brings. Raises InvalidSpec for text that is no job file."""
    if not form.text.strip():
        raise InvalidSpec([Problem("", "paste a job file, or choose one")])
    return Submission(
        raw_spec=load_job_file(form.text),
        private=form.is_private,
        source=_archive(request),
        idempotency_key=key_of(form.once),
    )


def _job_text(request: HttpRequest) -> str:
    """The chosen file wins over the text that was pasted."""
    file = request.FILES.get("file")
    if isinstance(file, UploadedFile):
        return file.read(FILE_BYTES + 1).decode("utf-8", "replace")
    return request.POST.get("text", "").replace("\r\n", "\n")


def _archive(request: HttpRequest) -> SourceArchive | None:
    file = request.FILES.get("source")
    if not isinstance(file, UploadedFile) or file.file is None:
        return None
    return SourceArchive(cast(BinaryIO, file.file), file.name or "source")


def _job(request: HttpRequest, job_id: str) -> Job:
    try:
        return get_job(viewer(request), job_id)
    except NoSuchJob as missing:
        raise Http404(str(missing)) from None
