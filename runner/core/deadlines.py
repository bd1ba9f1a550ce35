"""When time ends a job: no first mini-batch, no progress, its limit. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deadlines:
    """Settings in seconds; None means no limit."""

    first_task_creation: float
    progress_update: float
    time_limit: float | None = None


@dataclass(frozen=True)
class Moment:
    """How long things have lasted, in seconds, when one looks."""

    running_seconds: float  # since RUNNING
    created: int  # mini-batches in the manifest
    is_listing: bool
    seconds_since_end: float | None  # of any try or init(); None: the clock stands
    ready_processes: int  # past init()


@dataclass(frozen=True)
class Expired:
    setting: str
    cause: str
    limit_seconds: float
    seconds: float


def find_expired(deadlines: Deadlines, moment: Moment) -> Expired | None:
    """Return the deadline that has passed, or None."""
    limit = deadlines.time_limit
    if limit is not None and moment.running_seconds > limit:
        return Expired("time_limit", "time_limit", limit, moment.running_seconds)
    limit = deadlines.first_task_creation
    if moment.is_listing and not moment.created and moment.running_seconds > limit:
        return Expired(
            "first_task_creation_timeout", "first_task_timeout", limit, moment.running_seconds
        )
    return _no_progress(deadlines.progress_update, moment)


def _no_progress(limit: float, moment: Moment) -> Expired | None:
    silent = moment.seconds_since_end
    if silent is None or not moment.ready_processes or silent <= limit:
        return None
    return Expired("progress_update_timeout", "no_progress", limit, silent)
