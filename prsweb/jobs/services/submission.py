"""Making a job: everything is checked first, and nothing is stored when something is wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from prsweb import __version__
from prsweb.accounts.audit import audit
from prsweb.accounts.models import Role
from prsweb.accounts.permissions import Actor, require_role
from prsweb.jobs.dispatch import wake_scheduler
from prsweb.jobs.models import Job, JobEvent, JobQueue
from prsweb.jobs.services.code_checks import FoundScript, code_folder, find_script
from prsweb.jobs.services.imported_jobs import as_written, with_known_queue
from prsweb.jobs.services.not_offered import check_offered
from prsweb.jobs.services.path_checks import (
    check_folder,
    check_inputs,
    check_outputs,
    check_staged,
)
from prsweb.jobs.services.placement_checks import check_placement
from prsweb.jobs.services.snapshot import (
    BadSource,
    SourceArchive,
    SourceTooLarge,
    copy_folder,
    list_folder,
    unpack_archive,
)
from runner.core.layout import JobFolder
from runner.core.problems import InvalidSpec, Problem
from runner.core.specs import (
    apply_settings,
    changed_fields,
    dump_spec,
    import_document,
    parse_spec,
)
from runner.core.states import JobKind, JobState

FIRST_REASON = "accepted; the scheduler has not looked at it yet"
INCOMING_PREFIX = ".incoming-"


class InvalidJob(Exception):
    """The job cannot be submitted. ``problems`` holds every one, in the order of checks."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"The job has {count}.")


class KeyUsedBefore(Exception):
    """The idempotency key stands for another request of the same person. Fit to show."""


@dataclass(frozen=True)
class Submission:
    """What somebody wants to run."""

    raw_spec: Mapping[str, Any]
    private: bool = False
    # An upload, or a snapshot of ours; None: the folder that the specification names.
    source: SourceArchive | Path | None = None
    set_values: Mapping[str, Any] = field(default_factory=dict)  # path -> value
    given_keys: tuple[str, ...] | None = None  # None: those of raw_spec
    idempotency_key: str | None = None

    def digest(self, resubmitted_from: Job | None) -> str:
        """Return what tells this request from others: all of it but the code itself."""
        old = resubmitted_from.job_id if resubmitted_from else None
        parts = [self.raw_spec, self.set_values, self.private, old]
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(frozen=True)
class CheckedJob:
    """A submission without problems, its code on the disk beside the job folders."""

    spec: dict[str, Any]  # complete
    given_keys: list[str]
    warnings: list[str]
    incoming: JobFolder  # spec.json and snapshot/, not yet under its final name


@dataclass(frozen=True)
class JobCheck:
    """What a submission would become; nothing is stored."""

    spec: dict[str, Any] | None  # null: it could not be read
    warnings: tuple[str, ...]
    problems: tuple[Problem, ...]


def submit_job(
    *, submission: Submission, actor: Actor, resubmitted_from: Job | None = None
) -> Job:
    """Return the new job, SUBMITTED; the scheduler is woken when it is committed.

    With an idempotency key that the owner has used before for the same: the job of
    that time. Raises NotAllowed, InvalidJob with all problems at once,
    SourceTooLarge, KeyUsedBefore.
    """
    require_role(actor, Role.SUBMITTER, "submit a job")
    if known := _known_job(actor, submission, resubmitted_from):
        return known
    with checked_submission(submission, actor) as checked:
        job = _new_job(checked, submission, actor, resubmitted_from)
        folder = settings.PRSWEB_HOME.job(job.job_id).root
        checked.incoming.root.rename(folder)
        try:
            _store(job, actor)
        except IntegrityError:
            shutil.rmtree(folder, ignore_errors=True)
            known = _known_job(actor, submission, resubmitted_from)
            if known is None:
                raise
            return known  # the same request came twice at once
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return job


def check_job(*, submission: Submission, actor: Actor) -> JobCheck:
    """Return what ``submit_job`` would find. Stores nothing, raises NotAllowed only."""
    require_role(actor, Role.SUBMITTER, "submit a job")
    try:
        with checked_submission(submission, actor) as checked:
            return JobCheck(checked.spec, tuple(checked.warnings), ())
    except InvalidJob as invalid:
        return JobCheck(None, (), invalid.problems)
    except SourceTooLarge as error:
        return JobCheck(None, (), (Problem("source_directory", str(error)),))


@contextmanager
def checked_submission(submission: Submission, actor: Actor) -> Iterator[CheckedJob]:
    """Give the submission checked, its code copied; what is not kept is removed after."""
    problems: list[Problem] = []
    try:
        raw = with_known_queue(import_document(_with_settings(submission)))
        parsed = parse_spec(raw, paths_must_be_absolute=True)
    except InvalidSpec as invalid:
        raise InvalidJob(list(invalid.problems)) from None
    spec = dump_spec(parsed.spec)
    problems += check_offered(spec)
    problems += check_placement(spec)
    problems += check_inputs(spec, actor.user)
    problems += check_staged(spec, actor.user)
    problems += check_outputs(spec, actor.user)

    name = f"{INCOMING_PREFIX}{uuid.uuid4().hex}"
    incoming = JobFolder(settings.PRSWEB_HOME.jobs / name)
    try:
        incoming.root.mkdir(parents=True)
        warnings = [*parsed.warnings, *_take_code(submission, spec, incoming, actor, problems)]
        if problems:
            raise InvalidJob(as_written(problems, raw))
        incoming.spec.write_text(json.dumps(spec, indent=1, ensure_ascii=False) + "\n")
        given = parsed.given if submission.given_keys is None else submission.given_keys
        yield CheckedJob(spec, list(given), warnings, incoming)
    finally:
        shutil.rmtree(incoming.root, ignore_errors=True)


def _with_settings(submission: Submission) -> Mapping[str, Any]:
    if not submission.set_values:
        return submission.raw_spec
    try:
        return apply_settings(submission.raw_spec, submission.set_values)
    except InvalidSpec as invalid:
        raise InvalidJob(list(invalid.problems)) from None


def _take_code(
    submission: Submission,
    spec: dict[str, Any],
    incoming: JobFolder,
    actor: Actor,
    problems: list[Problem],
) -> list[str]:
    """Copy the code into the snapshot and name the entry script as it lies there.

    Returns warnings, adds to ``problems``. Raises SourceTooLarge.
    """
    key = "source_directory" if _is_step(spec) else "working_directory"
    try:
        warnings = _copy_code(submission.source, spec, key, incoming.snapshot, actor)
    except SourceTooLarge:
        raise
    except BadSource as error:
        problems.append(Problem(key, str(error)))
        return []
    except InvalidJob as invalid:
        problems += invalid.problems
        return []
    if not _is_step(spec):
        return warnings
    script = find_script(
        spec["entry_script"], incoming.snapshot, list_folder(incoming.snapshot)
    )
    if isinstance(script, FoundScript):
        spec["entry_script"] = script.path
        return [*warnings, *script.warnings]
    problems.append(script)
    return warnings


def _copy_code(
    source: SourceArchive | Path | None,
    spec: dict[str, Any],
    key: str,
    snapshot: Path,
    actor: Actor,
) -> list[str]:
    """Put the code into ``snapshot``; return warnings. Raises BadSource, InvalidJob."""
    if isinstance(source, SourceArchive):
        unpack_archive(source, snapshot)
        return []
    if isinstance(source, Path):
        copy_folder(source, snapshot)
        return [f"the code folder {spec.get(key)} is not here: the earlier job's copy runs"]
    folder = code_folder(spec)
    if folder is None:
        snapshot.mkdir()
        return []
    is_named = bool(spec.get(key))
    problems = list(check_folder(key if is_named else "entry_script", folder, actor.user))
    if problems:
        raise InvalidJob(problems)
    taken = copy_folder(Path(folder), snapshot)
    spec[key] = folder
    if is_named:
        return taken.warnings
    return [
        *taken.warnings,
        "without source_directory the folder of the entry script was copied: "
        f"{taken.file_count:,} files of {folder}",
    ]


def _is_step(spec: Mapping[str, Any]) -> bool:
    return spec["kind"] == JobKind.PARALLEL_RUN_STEP


def _new_job(checked: CheckedJob, submission: Submission, actor: Actor, old: Job | None) -> Job:
    spec = checked.spec
    is_multi_node = spec["kind"] == JobKind.MULTI_NODE
    node_count = spec["nodes"] if is_multi_node else spec.get("node_count", 1)
    return Job(
        uuid=uuid.uuid4(),
        name=spec["name"],
        kind=spec["kind"],
        state=JobState.SUBMITTED,
        state_reason=FIRST_REASON,
        owner=actor.user,
        private=submission.private,
        queue=JobQueue.objects.get(name=spec["queue"]),
        tags=spec["tags"],
        spec=spec,
        given_keys=checked.given_keys,
        changes=_changes(old, spec),
        warnings=checked.warnings,
        version=__version__,
        idempotency_key=submission.idempotency_key,
        request_digest=submission.digest(old) if submission.idempotency_key else "",
        submitted_at=timezone.now(),
        node_count=node_count,
        main_node=spec["main_node"] if is_multi_node else None,
        attempt_limit=(spec.get("retry") or {}).get("attempts", 1),
        resubmitted_from=old,
    )


def _changes(old: Job | None, spec: dict[str, Any]) -> list[dict[str, Any]]:
    if old is None:
        return []
    return [change.to_dict() for change in changed_fields(old.spec, spec)]


@transaction.atomic
def _store(job: Job, actor: Actor) -> None:
    job.save(force_insert=True)
    JobEvent.objects.create(
        job=job,
        at=job.submitted_at,
        kind="state",
        to_state=JobState.SUBMITTED,
        actor=actor.words,
        reason=FIRST_REASON,
    )
    audit(actor, "submit job", job.job_id, after={"name": job.name, "kind": job.kind})
    wake_scheduler()


def _known_job(actor: Actor, submission: Submission, old: Job | None) -> Job | None:
    key = submission.idempotency_key
    if key is None:
        return None
    jobs = Job.objects.select_related("owner", "queue", "resubmitted_from", "reused_from")
    known = jobs.filter(owner=actor.user, idempotency_key=key).first()
    if known is not None and known.request_digest not in ("", submission.digest(old)):
        raise KeyUsedBefore(
            f"The idempotency key was used before, for another request (job "
            f"{known.job_id[:8]}); send a new one."
        )
    return known
