"""What a list may be asked for: one model for page, API and command line.

A page drops a field that is wrong and says so (``tolerant``); the API refuses it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, TypeVar

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from runner.core.states import WAITING_STATES, JobKind, JobState, MiniBatchState, NodeState

PAGE_ROWS = 100
WAITING_WORD = "waiting"  # stands for SUBMITTED, PENDING and RUNNABLE
_AGE = re.compile(r"(\d{1,6})\s*(m|h|d|w)")
_AGE_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class MalformedCursor(ValueError):
    """The cursor is none that a list gave."""


def make_cursor(*values: Any) -> str:
    """Return an opaque text that says where a page ended."""
    packed = json.dumps(values, separators=(",", ":"), default=str).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_cursor(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """Return the values of ``make_cursor``, each of its kind, or raise MalformedCursor."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        values = json.loads(base64.urlsafe_b64decode(padded.encode()))
    except (ValueError, binascii.Error):
        values = None
    if (
        not isinstance(values, list)
        or len(values) != len(kinds)
        or not all(
            isinstance(value, kind) and not isinstance(value, bool)
            for value, kind in zip(values, kinds, strict=True)
        )
    ):
        raise MalformedCursor("must be the 'next' of an earlier answer")
    return tuple(values)


class Filter(BaseModel):
    """Base. Empty text means that nothing was asked for."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    after: str | None = Field(None, max_length=500, description="`next` of the page before")
    limit: int = Field(PAGE_ROWS, ge=1, le=PAGE_ROWS)

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_absent(cls, value: Any, info: Any) -> Any:
        if value in ("", [""], []):
            return cls.model_fields[info.field_name].get_default()
        return value

    def query(self, **changes: Any) -> dict[str, str]:
        """Return the query string's members that lead here, defaults left out.

        A change to None removes the member; any change but of ``after`` itself
        leads to the first page.
        """
        values = self.model_dump(exclude_defaults=True, exclude={"limit"}, mode="json")
        if changes and "after" not in changes:
            changes["after"] = None
        members = {**values, **changes}
        return {
            key: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            for key, value in members.items()
            if value not in (None, "", [], (), False)
        }


FilterT = TypeVar("FilterT", bound=BaseModel)


def tolerant(model: type[FilterT], query: Mapping[str, Any]) -> tuple[FilterT, list[str]]:
    """Return the filter that ``query`` asks for, without the members that are wrong,
    and a sentence for each of those."""
    given = {key: query[key] for key in query if key in model.model_fields}
    left_out = []
    try:
        return model.model_validate(given), []
    except ValidationError as error:
        for found in error.errors():
            name = str(found["loc"][0])
            if name in given:
                value = given.pop(name)
                left_out.append(f"{name}={value} was left out: {_rule(found)}")
    return model.model_validate(given), left_out


def _rule(found: Any) -> str:
    if found["type"] == "value_error":
        return str(found["ctx"]["error"])
    return str(found["msg"]).removeprefix("Input should be ").join(("must be ", ""))


def words(value: Any) -> list[str]:
    """Split ``a,b`` and lists of such into words."""
    parts = value if isinstance(value, list | tuple) else [value]
    return [word.strip() for part in parts for word in str(part).split(",") if word.strip()]


def _choose(value: Any, choices: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what each word stands for, in any case; else raise ValueError."""
    chosen: list[Any] = []
    for word in words(value):
        if word.lower() not in choices:
            raise ValueError(f"choose one of {', '.join(choices)} (found: {word})")
        found = choices[word.lower()]
        chosen += found if isinstance(found, list) else [found]
    return tuple(dict.fromkeys(chosen))


def _by_word(enum: type[StrEnum]) -> dict[str, Any]:
    return {str(member).lower(): member for member in enum}


_JOB_STATE_WORDS: dict[str, Any] = {
    **_by_word(JobState),
    WAITING_WORD: sorted(WAITING_STATES),
}


class JobFilter(Filter):
    owner: str | None = Field(None, max_length=150, description="user name, or `me`")
    kind: tuple[JobKind, ...] = Field((), description="several with commas")
    state: tuple[JobState, ...] = Field(
        (), description="several with commas, any case; `waiting` is all that wait"
    )
    queue: str | None = Field(None, max_length=128)
    tag: str | None = Field(None, max_length=200, description="`name` or `name=value`")
    q: str | None = Field(None, max_length=200, description="part of the name, or of the id")
    since: str | None = Field(
        None, max_length=40, description="`7d`, `24h`, `30m`, or an RFC 3339 time or date"
    )
    sort: Literal["-submitted", "submitted"] = "-submitted"

    @field_validator("kind", mode="before")
    @classmethod
    def _kinds(cls, value: Any) -> Any:
        return _choose(value, _by_word(JobKind))

    @field_validator("state", mode="before")
    @classmethod
    def _states(cls, value: Any) -> Any:
        return _choose(value, _JOB_STATE_WORDS)

    @field_validator("since")
    @classmethod
    def _since_is_a_time(cls, value: str | None) -> str | None:
        if value is not None:
            moment(value)
        return value

    @property
    def since_at(self) -> datetime | None:
        return moment(self.since) if self.since else None


MiniBatchWord = Literal[
    "waiting",
    "running",
    "retrying",
    "succeeded",
    "partial",
    "failed",
    "not_run",
    "unfinished",
]
RECORDED_WORDS = frozenset(
    state.word
    for state in (MiniBatchState.SUCCEEDED, MiniBatchState.PARTIAL, MiniBatchState.FAILED)
)


class MiniBatchFilter(Filter):
    state: MiniBatchWord | None = None
    node: str | None = Field(None, max_length=128)
    process: str | None = Field(None, max_length=32, description="`process005`, with `node`")
    error: str | None = Field(None, max_length=64, description="fingerprint of an error group")
    min_tries: int | None = Field(None, ge=1, le=2**31 - 1)
    sort: Literal["number", "-number", "run", "-run", "tries", "-tries"] = "number"

    @field_validator("process")
    @classmethod
    def _process_is_a_name(cls, value: str | None) -> str | None:
        if value is not None:
            process_number(value)
        return value

    @property
    def wants_recorded_only(self) -> bool:
        """Only mini-batches with an outcome can match."""
        return bool(
            self.state in RECORDED_WORDS
            or self.node
            or self.process
            or self.error
            or self.min_tries
            or self.sort not in ("number", "-number")
        )


class NodeFilter(Filter):
    state: tuple[NodeState, ...] = ()
    environment: str | None = Field(None, max_length=128)

    @field_validator("state", mode="before")
    @classmethod
    def _states(cls, value: Any) -> Any:
        return _choose(value, _by_word(NodeState))


class ErrorFilter(Filter):
    kind: str | None = Field(None, max_length=32)
    q: str | None = Field(None, max_length=200, description="part of title or place")


class LogFilter(Filter):
    node: str | None = Field(None, max_length=128)
    stream: Literal["stdout", "stderr"] | None = None


class LogQuery(BaseModel):
    """A search in one log (``path``) or all logs of a job."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    q: str = Field("", max_length=1000, description="text to look for; required")
    path: str | None = Field(None, max_length=4096, description="one file; else all")
    case: bool = Field(False, description="tell capital letters from small ones")
    from_line: int = Field(1, ge=1, description="where to go on in that file")
    limit: int = Field(200, ge=1, le=200)

    @field_validator("q")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if "\n" in value or "\0" in value:
            raise ValueError("must be text of one line")
        return value


class SampleQuery(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    metric: Literal[
        "cpu",
        "memory",
        "own",
        "threads",
        "read",
        "written",
        "sent",
        "received",
        "open_files",
    ] = "cpu"
    process: str | None = Field(
        None,
        max_length=200,
        description="absent: the nodes; `all`, `n2`: their processes; `n2/process005`",
    )
    start: str | None = Field(None, alias="from", max_length=40)
    end: str | None = Field(None, alias="to", max_length=40)
    points: int = Field(500, ge=1, le=500)

    @field_validator("start", "end")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        if value is not None:
            moment(value)
        return value


def moment(text: str) -> datetime:
    """Return the time that ``7d`` (ago), an RFC 3339 time or a date names.

    Raises ValueError with the rule.
    """
    rule = "must be like 7d, 24h, 30m, or a time like 2026-01-31T09:00:00Z"
    if match := _AGE.fullmatch(text.strip()):
        try:
            return timezone.now() - timedelta(**{_AGE_UNITS[match[2]]: int(match[1])})
        except OverflowError:
            raise ValueError(rule) from None
    try:
        at = parse_datetime(text)
        day = None if at else parse_date(text)
    except ValueError:
        raise ValueError(rule) from None
    if at is None:
        if day is None:
            raise ValueError(rule)
        at = datetime(day.year, day.month, day.day)
    try:
        return (at if timezone.is_aware(at) else timezone.make_aware(at)).astimezone(UTC)
    except OverflowError:  # the first or last day there is, in a far zone
        raise ValueError(rule) from None


def process_number(name: str) -> int:
    """Return 5 for ``process005``; raise ValueError with the rule."""
    match = re.fullmatch(r"process(\d{3,9})", name)
    if match is None:
        raise ValueError(f"must be like process005 (found: {name})")
    return int(match[1])
