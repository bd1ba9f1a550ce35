"""Where in the logs the lines of one try stand."""

from __future__ import annotations

import time
from dataclasses import dataclass

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import job_folder
from prsweb.jobs.selectors.logs import NoSuchLog, opened_log
from prsweb.jobs.selectors.tries import TryView
from runner.core.layout import JobFolder
from runner.core.printed_ranges import ByteRange, find_printed

# All tries of a mini-batch together; what is not found by then is left out.
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class LogPlace:
    """Lines ``first`` to ``last`` of a log."""

    path: str  # below logs/
    first: int
    last: int


def try_log_places(
    job: Job, index: int, tries: tuple[TryView, ...]
) -> dict[int, list[LogPlace]]:
    """Return by the number of each try where its traceback, what it printed and its
    system lines are."""
    deadline = time.monotonic() + LOOK_SECONDS
    return {
        one.number: _places(job, index, one, deadline)
        for one in tries
        if time.monotonic() < deadline
    }


def _places(job: Job, index: int, one: TryView, deadline: float) -> list[LogPlace]:
    folder = job_folder(job)
    name = f"mini-batch {index} try {one.number}"
    places = [
        # A traceback goes on to the head of the next one.
        _find(job, _error_log(folder, one), f"|{name}|", "|mini-batch ", deadline, ends_at=-1),
        *_printed(job, index, one),
        _find(job, _system_log(folder, one), f"|picked {name} ", f"|done {name}:", deadline),
    ]
    return [place for place in places if place is not None]


def _printed(job: Job, index: int, one: TryView) -> list[LogPlace | None]:
    """Return the lines that the try wrote to sys.stdout and sys.stderr."""
    folder = job_folder(job)
    ranges = find_printed(
        folder.segments,
        node=one.node,
        process=one.process,
        index=index,
        try_number=one.number,
    )
    if ranges is None:
        return []
    return [
        _lines(job, _stream_log(folder, one, "stdout"), ranges.stdout),
        _lines(job, _stream_log(folder, one, "stderr"), ranges.stderr),
    ]


def _lines(job: Job, path: str, found: ByteRange | None) -> LogPlace | None:
    if found is None:
        return None
    try:
        with opened_log(job, path) as log:
            return LogPlace(path, log.line_at(found.start), log.line_at(found.end - 1))
    except NoSuchLog:
        return None


def _find(
    job: Job, path: str, start: str, end: str, deadline: float, *, ends_at: int = 0
) -> LogPlace | None:
    """Return from the line with ``start`` to the next with ``end``, and ``ends_at``
    more; without such an end to the file's."""
    try:
        with opened_log(job, path) as log:
            first = log.search(
                start, is_case_sensitive=True, limit=1, seconds=deadline - time.monotonic()
            ).hits
            if not first:
                return None
            after = log.search(
                end,
                is_case_sensitive=True,
                from_line=first[0].line + 1,
                limit=1,
                seconds=deadline - time.monotonic(),
            ).hits
            last = after[0].line + ends_at if after else log.line_count
            return LogPlace(path, first[0].line, last)
    except NoSuchLog:
        return None


def _error_log(folder: JobFolder, one: TryView) -> str:
    path = folder.user_logs / "error" / one.node / f"{one.process}.txt"
    return str(path.relative_to(folder.logs))


def _stream_log(folder: JobFolder, one: TryView, stream: str) -> str:
    path = folder.user_logs / stream / one.node / f"{one.process}.{stream}.txt"
    return str(path.relative_to(folder.logs))


def _system_log(folder: JobFolder, one: TryView) -> str:
    number = int(one.process.removeprefix("process"))
    return str(folder.system_log(one.node, number).relative_to(folder.logs))
