"""Which log, and which lines of it, tell what a person came to see."""

from __future__ import annotations

from dataclasses import dataclass

from prsweb.jobs.models import ErrorGroup, Job, JobNode
from prsweb.jobs.models.mini_batch import split_process_key
from prsweb.jobs.selectors.errors import top_error_groups
from prsweb.jobs.selectors.jobs import job_folder
from prsweb.jobs.selectors.logs import NoSuchLog, opened_log
from runner.core.layout import process_name
from runner.core.log_index import LogFile
from runner.core.states import JobKind, JobState

LOOK_SECONDS = 1.0
TRACEBACK_LINES = 400  # a longer one is marked up to here


@dataclass(frozen=True)
class ErrorPlace:
    """Where an error stands in the log of its process."""

    path: str  # below logs/
    first: int | None  # None: the file as a whole
    last: int | None

    @property
    def anchor(self) -> str:
        """``#L10-L20``, the form that the log viewer marks; "" for a whole file."""
        if self.first is None:
            return ""
        return f"#L{self.first}" if self.last == self.first else f"#L{self.first}-L{self.last}"


def first_log(job: Job) -> str | None:
    """Return the path that opens first: of a failed job its first error, of a good one
    the result, while it runs what happens now. None before there is any file."""
    candidates = []
    if job.kind != JobKind.PARALLEL_RUN_STEP:
        candidates.append(f"nodes/{job.main_node or 0}/attempt-{max(1, job.attempt)}.log")
    if job.state == JobState.FAILED:
        places = [error_place(job, group) for group in top_error_groups(job, limit=1)]
        candidates += [place.path for place in places if place]
    if job.state not in (JobState.STARTING, JobState.RUNNING):
        candidates.append("job_result.txt")
    candidates += ["sys/master_role.txt", "azureml/70_driver_log.txt"]
    logs = job_folder(job).logs
    return next((path for path in candidates if (logs / path).is_file()), None)


def error_place(job: Job, group: ErrorGroup) -> ErrorPlace | None:
    """Return where the first error of the group stands; None when no log tells of it."""
    if group.first_process is None:
        return None
    node_index, number = split_process_key(group.first_process)
    names = JobNode.objects.filter(job_id=job.pk, index=node_index).order_by("-assignment")
    node = names.values_list("node_name", flat=True).first()
    name = process_name(number)
    folder = job_folder(job)
    for path in (f"user/error/{node}/{name}.txt", f"sys/node/{node}/{name}.txt"):
        if (folder.logs / path).is_file():
            return _place(job, group, path)
    return None


def _place(job: Job, group: ErrorGroup, path: str) -> ErrorPlace:
    try:
        with opened_log(job, path) as log:
            first = _first_line(log, group)
            last = _last_line(log, group, first) if first else None
    except NoSuchLog:
        first = last = None
    return ErrorPlace(path, first, last)


def _first_line(log: LogFile, group: ErrorGroup) -> int | None:
    """The line that names the try, else the one with the message."""
    if group.first_mini_batch is not None:
        head = f"|mini-batch {group.first_mini_batch} try {group.first_try}|"
        if line := _find(log, head):
            return line
    return _find(log, _message(group))


def _last_line(log: LogFile, group: ErrorGroup, first: int) -> int:
    """The line with the message, so that the traceback above it is marked whole."""
    message = _find(log, _message(group), from_line=first)
    return message if message and message - first <= TRACEBACK_LINES else first


def _message(group: ErrorGroup) -> str:
    lines = [line for line in group.traceback.splitlines() if line.strip()]
    return lines[-1][:200] if lines else group.title[:200]


def _find(log: LogFile, text: str, *, from_line: int = 1) -> int | None:
    found = log.search(
        text, is_case_sensitive=True, from_line=from_line, limit=1, seconds=LOOK_SECONDS
    )
    return found.hits[0].line if found.hits else None
