"""Errors of tries, grouped by cause. Pure.

A fingerprint does not change with numbers, paths or names in the message, so
that a thousand failures of one cause are one group. Its version is part of it:
a new rule gives new fingerprints, old links stay valid.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.harness import wire

VERSION = "v1"
LAST_FRAMES = 3  # of an error outside the job's code
TITLE_CHARS = 300
PATTERN_CHARS = 2000  # of a message that are looked at: a script may put a file into it
# Errors that we raise ourselves: their message says everything, their type nothing.
OUR_TYPES = ("_prs_harness.", "runner.harness.")

_TOKENS = (
    (re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""), "<text>"),
    # It begins where a word does, or every letter of a long word would be a start to try.
    (re.compile(r"(?<![\w.~@+-])(?:[A-Za-z]:)?(?:[\w.~@+-]*[/\\])+[\w.@+-]*"), "<path>"),
    (
        re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE),
        "<id>",
    ),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?"), "<n>"),
)


@dataclass(frozen=True)
class CaughtError:
    """What went wrong in one try, as it comes over the wire (``wire``, ERROR)."""

    kind: str
    types: tuple[str, ...] = ()  # outermost first
    message: str = ""
    frames: tuple[tuple[Any, ...], ...] = ()  # file, module, function, line, source, is_user
    traceback: str = ""
    digest: str = ""

    @classmethod
    def from_wire(cls, raw: Mapping[str, Any]) -> CaughtError:
        """Read it; members that are missing or of another form count as empty."""
        return cls(
            kind=str(raw.get("kind") or "exception"),
            types=tuple(str(one) for one in _list(raw.get("types"))),
            message=str(raw.get("message") or ""),
            frames=tuple(
                tuple(one)
                for one in _list(raw.get("frames"))
                if isinstance(one, (list, tuple)) and len(one) >= 6
            ),
            traceback=str(raw.get("traceback") or ""),
            digest=str(raw.get("digest") or ""),
        )

    @property
    def title(self) -> str:
        first_line = self.message.strip().split("\n", 1)[0]
        name = self.types[0] if self.types else ""
        says_it_all = self.kind == "wrong_type" or name.startswith(OUR_TYPES)
        if says_it_all and first_line:
            name = ""
        return ": ".join(part for part in (name, first_line) if part)[:TITLE_CHARS]

    @property
    def place(self) -> str:
        """Return ``score.py:42``, the innermost frame of the job's own code."""
        for file, _, _, line, *_ in reversed(self._user_frames()):
            return f"{str(file).rsplit('/', 1)[-1]}:{line}"
        return ""

    def _user_frames(self) -> list[tuple[Any, ...]]:
        return [frame for frame in self.frames if frame[5]]

    def fingerprint(self) -> str:
        """Return ``v1:`` and eight hex digits: types, then the job's own frames,
        else the last three, else the message without what varies."""
        frames = self._user_frames() or list(self.frames[-LAST_FRAMES:])
        where = [
            f"{module}:{function}:{' '.join(str(source).split())}"
            for _, module, function, _, source, *_ in frames
        ]
        parts = [*self.types, *(where or [normalise(self.message)])]
        digest = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape"))
        return f"{VERSION}:{digest.hexdigest()[:8]}"


@dataclass(frozen=True)
class Group:
    """To which group a failure belongs, and how the group reads."""

    fingerprint: str
    kind: str
    title: str
    pattern: str = ""
    place: str = ""
    traceback: str = field(default="", compare=False)


def normalise(message: str) -> str:
    """Return how ``message`` begins, quoted texts, paths, ids and numbers as tokens."""
    message = message[:PATTERN_CHARS]
    for pattern, token in _TOKENS:
        message = pattern.sub(token, message)
    return message


# Statuses without a stack of the user's: the group's kind follows from the status.
_KIND_OF_STATUS = {
    wire.RUN_TIMEOUT: "timeout:run_invocation_timeout",
    wire.LOAD_TIMEOUT: "timeout:task_overhead_timeout",
    wire.WRITE_TIMEOUT: "timeout:task_overhead_timeout",
    wire.OUT_OF_MEMORY: "oom",
    wire.NODE_LOST: "node_lost",
    wire.WRONG_RETURN_TYPE: "wrong_type",
    wire.PROCESS_DIED: "died",
}
# Errors with a stack that are told apart by where they arose.
_KIND_OF_ERROR = {"load": "input_unreadable", "out_of_memory": "oom"}
_TITLES = {
    "node_lost": "Its node was lost",
    "oom": "Killed by the kernel: out of memory",
    "oom:likely": "Probably killed for want of memory",
    "missing_results": "run() returned fewer items than it got",
    "died": "Its process died",
    "unpicklable": "The result cannot be written",
    "input_unreadable": "The input cannot be read",
    "init_failed": "init() failed",
    "import_failed": "The entry script cannot be imported",
}


def group_try(status: int, error: CaughtError | None) -> Group:
    """Return the group of a failed try from its status and, if any, its error."""
    if status == wire.WRONG_RETURN_TYPE:
        return _wrong_type(error)
    if error is not None and error.types:
        return group_exception(error, _KIND_OF_ERROR.get(error.kind, "exception"))
    named = error.kind if error is not None else ""
    kind = named if named not in ("", "exception") else _KIND_OF_STATUS.get(status, "died")
    return _special(kind, error)


def _wrong_type(error: CaughtError | None) -> Group:
    returned = error.types[0] if error is not None and error.types else "a wrong type"
    title = f"run() returned {returned}; a list or a DataFrame is expected"
    message = error.message if error is not None else ""
    return Group("wrong_type", "wrong_type", title, pattern=title, traceback=message)


def group_partial() -> Group:
    """Return the group of mini-batches whose run() returned too little."""
    return _special("missing_results", None)


def group_exception(error: CaughtError, kind: str = "exception") -> Group:
    return Group(
        fingerprint=error.fingerprint(),
        kind=kind,
        title=error.title or _TITLES.get(error.kind, error.kind),
        pattern=normalise(error.message)[:TITLE_CHARS],
        place=error.place,
        traceback=error.traceback,
    )


def group_init(error: CaughtError) -> Group:
    """Return the group of a failed import or init()."""
    kind = "import_failed" if error.kind == "import" else "init_failed"
    return group_exception(error, kind) if error.types else _special(error.kind, error)


def _special(kind: str, error: CaughtError | None) -> Group:
    message = error.title if error is not None else ""
    title = message or _TITLES.get(kind, kind.replace("_", " "))
    return Group(
        fingerprint=kind[:64],
        kind=kind.split(":", 1)[0][:32],
        title=title,
        pattern=normalise(title)[:TITLE_CHARS],
        place=error.place if error is not None else "",
        traceback=error.traceback if error is not None else "",
    )


# What the second half of a job's cause says of its dominant group.
_CAUSE_OF_KIND = {
    "timeout": "run_timeout",
    "wrong_type": "wrong_return_type",
    "oom": "out_of_memory",
    "signal": "process_died",
    "exit": "process_died",
    "died": "process_died",
    "input_unreadable": "load_failed",
    "node_lost": "nodes_lost",
    "missing_results": "missing_results",
    "init_failed": "init_failed",
    "import_failed": "init_failed",
}


def cause_of_group(kind: str, status: int | None = None) -> str:
    """Return ``run_exception``, ``run_timeout``, … of a group of this kind."""
    if status in (wire.LOAD_EXCEPTION, wire.LOAD_TIMEOUT):
        return "load_failed"
    return _CAUSE_OF_KIND.get(kind, "run_exception")


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()
