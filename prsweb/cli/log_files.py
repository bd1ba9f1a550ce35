"""Which log files of a job a person means, and what each line is marked with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
ATTEMPT_LOG = re.compile(r"nodes/(\d+)/attempt-(\d+)\.log")
USER_OUTPUT = ("user/stdout/", "user/stderr/")
SCRIPT_LOG = "user/entry_script_log/"
# From the least to the most severe; a level asked for means it and all after it.
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# A colour (kept), any other escape sequence, any other control code but the tab.
CONTROL_CODES = re.compile(
    r"(\x1b\[[0-9;]*m)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f]"
)
LINE_LEVEL = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d+\|([A-Z]+)\|")


@dataclass(frozen=True)
class LogChoice:
    """What ``prs logs`` was asked for; None: all."""

    node: str | None = None
    process: str | None = None
    attempt: int | None = None
    stream: str | None = None
    level: str | None = None
    path: str | None = None


@dataclass(frozen=True)
class LogSource:
    path: str
    mark: str  # "n1/process000", before each of its lines


def choose_logs(files: Iterable[Json], choice: LogChoice) -> list[LogSource]:
    """Return the files that hold what the user's code said, in the order of nodes and
    processes; of a multi-node job, each node's newest attempt unless one is named."""
    fitting = [file for file in files if _fits(file, choice)]
    if choice.path is None and choice.attempt is None:
        fitting = _newest_attempts(fitting)
    return [LogSource(file["path"], _mark(file)) for file in sorted(fitting, key=_order)]


def _fits(file: Json, choice: LogChoice) -> bool:
    path = str(file["path"])
    if choice.path is not None:
        return path == choice.path
    attempt = ATTEMPT_LOG.fullmatch(path)
    if attempt is None and not _is_user_log(path, choice.level):
        return False
    if attempt is not None and choice.attempt not in (None, int(attempt[2])):
        return False
    if choice.node is not None and choice.node not in (
        file.get("node"),
        attempt and attempt[1],
    ):
        return False
    if choice.process is not None and not _is_process(file.get("process"), choice.process):
        return False
    return choice.stream is None or attempt is not None or f"/{choice.stream}/" in path


def _is_user_log(path: str, level: str | None) -> bool:
    """Levels are in the script's own log only."""
    if level is not None:
        return path.startswith(SCRIPT_LOG)
    return path.startswith(USER_OUTPUT)


def _is_process(name: str | None, wanted: str) -> bool:
    """``3``, ``p03`` and ``process003`` mean the same."""
    digits = wanted.lower().removeprefix("process").removeprefix("p")
    return name is not None and (
        name == wanted or (digits.isdigit() and name == f"process{int(digits):03d}")
    )


def _newest_attempts(files: list[Json]) -> list[Json]:
    newest: dict[str, int] = {}
    for file in files:
        if match := ATTEMPT_LOG.fullmatch(file["path"]):
            newest[match[1]] = max(newest.get(match[1], 0), int(match[2]))
    return [
        file
        for file in files
        if not (match := ATTEMPT_LOG.fullmatch(file["path"]))
        or int(match[2]) == newest[match[1]]
    ]


def _mark(file: Json) -> str:
    path = str(file["path"])
    if match := ATTEMPT_LOG.fullmatch(path):
        return str(file.get("node") or f"#{match[1]}")
    mark = "/".join(str(one) for one in (file.get("node"), file.get("process")) if one)
    if path.startswith("user/stderr/"):
        mark += " stderr"
    return mark or path


def _order(file: Json) -> tuple[tuple[int, ...], str]:
    """n2 before n10."""
    return tuple(map(int, re.findall(r"\d+", file["path"]))), str(file["path"])


def shown_line(line: str, *, is_terminal: bool) -> str:
    """Return a line as it is shown: of one written over by carriage returns its last
    state; on a terminal with its colours and without other control codes."""
    line = line.rstrip("\r").rpartition("\r")[2]
    return CONTROL_CODES.sub(lambda found: found[1] or "", line) if is_terminal else line


class LevelFilter:
    """Lets lines of a level or above through; a line without one goes with the line
    before it, so that a traceback stays whole."""

    def __init__(self, level: str | None) -> None:
        self._least = LEVELS.index(level) if level else None
        self._passes = self._least is None

    def passes(self, line: str) -> bool:
        if self._least is None:
            return True
        if match := LINE_LEVEL.match(line):
            word = match[1]
            self._passes = word in LEVELS and LEVELS.index(word) >= self._least
        return self._passes
