"""A new job from an old one's specification."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prsweb.accounts.permissions import Actor, require_owner_or_operator
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import job_folder
from prsweb.jobs.services.code_checks import code_folder
from prsweb.jobs.services.input_roots import is_allowed
from prsweb.jobs.services.submission import (
    InvalidJob,
    JobCheck,
    Submission,
    check_job,
    submit_job,
)
from runner.core.problems import InvalidSpec, Problem
from runner.core.specs import apply_settings, resubmission_base
from runner.core.states import TERMINAL_STATES, JobState

CODE_KEYS = ("source_directory", "working_directory", "entry_script")


class CannotResubmit(Exception):
    """The job is still active. Fit to show."""


def resubmit_job(
    *,
    job: Job,
    actor: Actor,
    set_values: Mapping[str, Any],
    failed_only: bool = False,
    private: bool | None = None,
    idempotency_key: str | None = None,
) -> Job:
    """Return a new job with the values that ``job`` had, but for ``set_values``.

    The old job stays as it ended; ``resubmitted_from`` links the two, ``changes``
    lists old and new of what differs. It runs the code folder as it is now; where
    that is gone, the copy that the old job ran.
    Raises CannotResubmit while the old job is active, NotAllowed, InvalidJob.
    """
    submission = _resubmission(job, actor, set_values, failed_only, private, idempotency_key)
    return submit_job(submission=submission, actor=actor, resubmitted_from=job)


def check_resubmission(
    *, job: Job, actor: Actor, set_values: Mapping[str, Any], failed_only: bool = False
) -> JobCheck:
    """Return what ``resubmit_job`` would make; nothing is stored."""
    try:
        submission = _resubmission(job, actor, set_values, failed_only, None, None)
    except InvalidJob as invalid:
        return JobCheck(None, (), invalid.problems)
    return check_job(submission=submission, actor=actor)


def _resubmission(
    job: Job,
    actor: Actor,
    set_values: Mapping[str, Any],
    failed_only: bool,
    private: bool | None,
    idempotency_key: str | None,
) -> Submission:
    require_owner_or_operator(actor, job.owner_id, "resubmit this job")
    if JobState(job.state) not in TERMINAL_STATES:
        raise CannotResubmit(
            f'Job "{job.name}" is {job.state}. Cancel it or wait for it to end.'
        )
    if failed_only:
        rule = "taking over what succeeded is not offered yet: leave it out to run all again"
        raise InvalidJob([Problem("failed_only", rule, "true")])
    base = resubmission_base(job.spec)
    try:
        raw = apply_settings(base, set_values) if set_values else base
    except InvalidSpec as invalid:
        raise InvalidJob(list(invalid.problems)) from None
    given_keys = dict.fromkeys([*job.given_keys, *set_values])
    names_code = any(key in set_values for key in CODE_KEYS)
    return Submission(
        raw_spec=raw,
        private=job.private if private is None else private,
        source=None if names_code else _old_code(job, actor),
        given_keys=tuple(given_keys),
        idempotency_key=idempotency_key,
    )


def _old_code(job: Job, actor: Actor) -> Path | None:
    """Return the old job's copy of the code, if the folder it was taken from is gone
    or may not be read from here; None: the folder is there."""
    folder = code_folder(job.spec)
    if folder and Path(folder).is_dir() and is_allowed(Path(folder), actor.user):
        return None
    snapshot = job_folder(job).snapshot
    return snapshot if snapshot.is_dir() else None
