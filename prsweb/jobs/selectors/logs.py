"""The log files of a job: the tree, ranges of lines, search.

Paths are relative to the job's ``logs`` folder and resolved inside it only;
the folder follows from the job, never from nodes that happen to be alive.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from prsweb.jobs.filters import LogFilter, LogQuery, make_cursor, read_cursor
from prsweb.jobs.models import Job, JobNode, JobProcess
from prsweb.jobs.selectors.jobs import has_ended, job_folder
from runner.core.log_index import (
    INDEX_SUFFIX,
    SEARCH_SECONDS,
    LineRange,
    LogFile,
    SearchAnswer,
    open_log,
)
from runner.core.safe_path import UnsafePath, open_inside, resolve_inside

# Counting lines of files never counted before ends here; the rest have none yet.
COUNT_SECONDS = 0.3
HITS_PER_FILE = 10
_PROCESS = re.compile(r"process\d{3,}")
_NODE_FOLDERS = ("sys/node/", "user/stdout/", "user/stderr/", "user/error/", "perf/")
_ENTRY_SCRIPT_LOG = "user/entry_script_log/"
_ATTEMPT = re.compile(r"nodes/(\d+)/attempt-(\d+)\.log")


class NoSuchLog(Exception):
    """The job has no such log file (also when the path would lead out of its logs)."""


@dataclass(frozen=True)
class LogEntry:
    """A file below logs/."""

    path: str
    bytes: int
    lines: int | None  # null: not counted within this answer's time
    node: str | None
    process: str | None
    attempt: int | None  # of a multi-node job's log
    live: bool  # may still grow
    modified_at: datetime


@dataclass(frozen=True)
class LogPage:
    entries: tuple[LogEntry, ...]
    next: str | None


@dataclass(frozen=True)
class FileHit:
    path: str
    line: int
    text: str


@dataclass(frozen=True)
class JobSearch:
    """Hits over all logs of a job: at most 10 a file and 200 in all."""

    hits: tuple[FileHit, ...]
    searched_files: int
    is_complete: bool  # every file was searched to its end, and no hit was left out


def log_tree(job: Job, wanted: LogFilter | None = None) -> LogPage:
    """Return one page of the log files, by path. Index files are not logs."""
    wanted = wanted or LogFilter.model_validate({})
    after = read_cursor(wanted.after, str)[0] if wanted.after else ""
    owners = _Owners.of(job)
    logs = job_folder(job).logs
    matching = (
        path
        for path in _paths(logs)
        if path > after
        and (wanted.node is None or owners.node_of(path) == wanted.node)
        and (wanted.stream is None or wanted.stream in path.rpartition("/")[2])
    )
    page: list[LogEntry] = []
    stop_counting_at = time.monotonic() + COUNT_SECONDS
    for path in matching:
        if len(page) == wanted.limit:
            return LogPage(tuple(page), make_cursor(page[-1].path))
        try:
            page.append(_entry(logs, path, owners, time.monotonic() < stop_counting_at))
        except (OSError, UnsafePath):  # gone since it was listed, or not ours to read
            continue
    return LogPage(tuple(page), None)


def log_range(job: Job, path: str, *, first: int, count: int) -> LineRange:
    """Return lines of one log, see ``LogFile.lines``. Raises NoSuchLog."""
    with opened_log(job, path) as log:
        return log.lines(first=first, count=count)


def log_search(job: Job, path: str, query: LogQuery) -> SearchAnswer:
    """Search one log, within 2 s. Raises NoSuchLog."""
    with opened_log(job, path) as log:
        return log.search(
            query.q,
            is_case_sensitive=query.case,
            from_line=query.from_line,
            limit=query.limit,
        )


def search_job_logs(job: Job, query: LogQuery) -> JobSearch:
    """Search every log of the job, the user's own first, within 2 s in all."""
    deadline = time.monotonic() + SEARCH_SECONDS
    hits: list[FileHit] = []
    searched, is_complete = 0, True
    paths = sorted(_paths(job_folder(job).logs), key=lambda path: not path.startswith("user/"))
    for path in paths:
        left = deadline - time.monotonic()
        room = query.limit - len(hits)
        if left <= 0 or room <= 0:
            return JobSearch(tuple(hits), searched, False)
        try:
            with opened_log(job, path) as log:
                found = log.search(
                    query.q,
                    is_case_sensitive=query.case,
                    limit=min(HITS_PER_FILE, room),
                    seconds=left,
                )
        except NoSuchLog:
            continue
        searched += 1
        is_complete = is_complete and found.is_complete
        hits += [FileHit(path, hit.line, hit.text) for hit in found.hits]
    return JobSearch(tuple(hits), searched, is_complete)


def open_log_bytes(job: Job, path: str) -> BinaryIO:
    """Open a log as it is. Raises NoSuchLog."""
    try:
        return open_inside(job_folder(job).logs, path)
    except (UnsafePath, OSError):
        raise _no_such(job, path) from None


def is_live(job: Job, path: str) -> bool:
    """Whether the log may still grow."""
    return _Owners.of(job).is_live(path)


@contextmanager
def opened_log(job: Job, path: str) -> Iterator[LogFile]:
    """Open a log for its lines. Raises NoSuchLog."""
    try:
        opened = open_log(job_folder(job).logs, path)
        log = opened.__enter__()
    except (UnsafePath, OSError):
        raise _no_such(job, path) from None
    try:
        yield log
    finally:
        opened.__exit__(None, None, None)


def _no_such(job: Job, path: str) -> NoSuchLog:
    return NoSuchLog(f"Job {job.job_id} has no log {path!r}.")


def _entry(logs: Path, path: str, owners: _Owners, may_count: bool) -> LogEntry:
    status = resolve_inside(logs, path).stat()
    lines = None
    if may_count:
        with open_log(logs, path) as log:
            lines = log.line_count
    return LogEntry(
        path=path,
        bytes=status.st_size,
        lines=lines,
        node=owners.node_of(path),
        process=_process_of(path),
        attempt=_attempt_of(path),
        live=owners.is_live(path),
        modified_at=datetime.fromtimestamp(status.st_mtime, UTC),
    )


def _paths(logs: Path) -> Iterator[str]:
    """Give the paths of all files below ``logs`` in order of their text.

    Links are named, not entered: what they lead to is listed where it is.
    """
    found = []
    for folder, folders, files in os.walk(logs):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names = set(files)
        for name in files:
            if not _is_index(name, names) and not name.startswith("."):
                found.append(os.path.relpath(Path(folder) / name, logs))
    yield from sorted(found)


def _is_index(name: str, names: set[str]) -> bool:
    """Whether the file lies beside a log: ``NAME.idx`` of a log ``NAME``, or the line
    times ``attempt-1.idx`` of ``attempt-1.log``."""
    stem = name.removesuffix(INDEX_SUFFIX)
    return stem != name and (stem in names or f"{stem}.log" in names)


def _process_of(path: str) -> str | None:
    match = _PROCESS.search(path.rpartition("/")[2])
    return match[0] if match else None


def _attempt_of(path: str) -> int | None:
    match = _ATTEMPT.fullmatch(path)
    return int(match[2]) if match else None


@dataclass(frozen=True)
class _Owners:
    """Whose each log file is."""

    ended: bool
    ended_processes: frozenset[tuple[str, int]]
    node_names: dict[int, str]  # by index

    @classmethod
    def of(cls, job: Job) -> _Owners:
        nodes = JobNode.objects.filter(job_id=job.pk).order_by("assignment")
        names = dict(nodes.values_list("index", "node_name"))
        if has_ended(job):
            return cls(True, frozenset(), names)
        ended = JobProcess.objects.filter(job_id=job.pk, ended_at__isnull=False)
        return cls(False, frozenset(ended.values_list("node_name", "number")), names)

    def node_of(self, path: str) -> str | None:
        if match := _ATTEMPT.fullmatch(path):
            return self.node_names.get(int(match[1]))
        for folder in (*_NODE_FOLDERS, _ENTRY_SCRIPT_LOG):
            if path.startswith(folder):
                node, separator, _ = path[len(folder) :].partition("/")
                return node if separator else None
        return None

    def is_live(self, path: str) -> bool:
        if self.ended:
            return False
        process = _process_of(path)
        if process is None:
            return True
        owner = (self.node_of(path), int(process.removeprefix("process")))
        return owner not in self.ended_processes
