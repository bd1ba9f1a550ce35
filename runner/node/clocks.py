"""Which process has spent too long in what it does. Pure.

The phase and its beginning come from the words of the status file, in the
monotonic clock, which process and agent share.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runner.core.wire_format import wire


class Clock(StrEnum):
    """A limit by the name of its setting, as error texts and groups show it."""

    RUN = "run_invocation_timeout"
    OVERHEAD = "task_overhead_timeout"


@dataclass(frozen=True)
class Limits:
    run_seconds: float
    overhead_seconds: float

    def of_phase(self, phase: int) -> tuple[Clock, float] | None:
        """Return the limit of ``phase``, or None where none applies (init() is
        judged for the whole job, by the master role)."""
        if phase in (wire.PHASE_RUN, wire.PHASE_SHUTDOWN):
            return Clock.RUN, self.run_seconds
        if phase in (wire.PHASE_LOAD, wire.PHASE_WRITE):
            return Clock.OVERHEAD, self.overhead_seconds
        return None

    @property
    def shortest_seconds(self) -> float:
        return min(self.run_seconds, self.overhead_seconds)


@dataclass(frozen=True)
class PhaseWords:
    """One reading of a status file."""

    phase: int
    mini_batch: int
    since_ns: int
    try_number: int
    done: int


@dataclass(frozen=True)
class Expiry:
    clock: Clock
    limit_seconds: float
    phase: int
    mini_batch: int

    @property
    def status(self) -> int:
        """Return the status (``wire``) of the try that ran into this limit."""
        if self.phase == wire.PHASE_LOAD:
            return wire.LOAD_TIMEOUT
        if self.phase == wire.PHASE_WRITE:
            return wire.WRITE_TIMEOUT
        return wire.RUN_TIMEOUT

    def __str__(self) -> str:
        did = {
            wire.PHASE_LOAD: f"loading mini-batch {self.mini_batch}",
            wire.PHASE_WRITE: f"writing the result of mini-batch {self.mini_batch}",
            wire.PHASE_SHUTDOWN: "shutdown()",
        }.get(self.phase, f"run() for mini-batch {self.mini_batch}")
        return f"{did} took longer than {self.clock} ({self.limit_seconds:g} s)"


def find_expiry(words: PhaseWords, limits: Limits, *, now_ns: int) -> Expiry | None:
    """Return what has run out, or None."""
    limit = limits.of_phase(words.phase)
    if limit is None:
        return None
    clock, seconds = limit
    if now_ns - words.since_ns < seconds * 1e9:
        return None
    return Expiry(clock, seconds, words.phase, words.mini_batch)


def seconds_until_due(words: PhaseWords, limits: Limits, *, now_ns: int) -> float:
    """Return after how many seconds the process must be looked at again.

    A phase that begins after this reading runs at least the shortest limit, so
    nothing can run out unseen before that.
    """
    limit = limits.of_phase(words.phase)
    if limit is None:
        return limits.shortest_seconds
    left = limit[1] - (now_ns - words.since_ns) / 1e9
    return max(0.0, min(left, limits.shortest_seconds))
