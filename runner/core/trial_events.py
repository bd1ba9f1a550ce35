"""What a trial tells the command that started it: one JSON object a line, as it happens.

A trial is ``./prs try``: one worker process over the first mini-batches, without a server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

from runner.core.messages import MalformedMessage, Message

TRIAL_NODE = "local"  # the node's name in paths and variables
JOB_FOLDER = "job"  # below the folder of the trial


@dataclass(frozen=True)
class TrialError:
    """What went wrong, as a job's pages tell it."""

    kind: str  # of its error group: exception, wrong_type, missing_results, timeout …
    title: str  # in one line
    place: str = ""  # "score.py:42", the innermost line of the user's code
    traceback: str = ""  # what there is to read, begins in the user's code


@dataclass(frozen=True)
class TrialEvent(Message):
    """Base; ``printed`` maps stdout, stderr and log to what was written since the last one."""

    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        if not isinstance(raw, Mapping):
            return super().from_dict(raw)
        members = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in raw.items()
        }
        if isinstance(raw.get("error"), Mapping):
            members["error"] = TrialError(**raw["error"])
        return super().from_dict(members)


@dataclass(frozen=True)
class InitTried(TrialEvent):
    """Import and init() are over; ``error`` is None when they went well."""

    type: ClassVar[str] = "init"
    seconds: float = 0.0
    error: TrialError | None = None
    printed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MiniBatchTried(TrialEvent):
    """One mini-batch and what its one try came to."""

    type: ClassVar[str] = "mini_batch"
    index: int = 0
    items: int = 0
    succeeded: int = 0
    failed: int = 0
    results: int = 0  # returned by run()
    run_seconds: float | None = None  # None: the process died in it
    error: TrialError | None = None
    printed: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None  # of its rows, where they have names
    rows: tuple[str, ...] = ()  # lines as they would stand in the output file


@dataclass(frozen=True)
class Warned(TrialEvent):
    """A sentence that changes no count."""

    type: ClassVar[str] = "warning"
    text: str = ""


@dataclass(frozen=True)
class TrialRefused(TrialEvent):
    """Nothing was run; the text says why and what to do."""

    type: ClassVar[str] = "refused"
    text: str = ""


@dataclass(frozen=True)
class TrialEnded(TrialEvent):
    """Nothing of it runs any more; the last event."""

    type: ClassVar[str] = "ended"
    printed: Mapping[str, str] = field(default_factory=dict)
    written: tuple[str, ...] = ()  # files in its output folder, which goes with it


EVENT_TYPES: Mapping[str, type[TrialEvent]] = {
    kind.type: kind for kind in (InitTried, MiniBatchTried, Warned, TrialRefused, TrialEnded)
}


def parse_trial_event(line: bytes) -> TrialEvent:
    """Return the event that ``line`` holds, or raise MalformedMessage."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise MalformedMessage(f"trial event: {error}") from None
    kind = EVENT_TYPES.get(str(raw.get("type"))) if isinstance(raw, dict) else None
    if kind is None:
        raise MalformedMessage(f"trial event of unknown type: {line[:80]!r}")
    return kind.from_dict(raw)
