"""How long a job still takes: one estimator for file, page and API. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import quantiles

LEAST_COMPLETIONS = 10
WINDOW_SECONDS = 60.0
WINDOW_COMPLETIONS = 20
SLICES = 10  # parts of the window whose rates give median and quantiles
KEPT_POINTS = 4000


@dataclass(frozen=True)
class Remaining:
    """Seconds left: 25 % to 75 % of the rates seen lead to low and high."""

    low: float
    middle: float
    high: float


class CompletionHistory:
    """How many mini-batches had ended at which time; bounded, whatever the job's size."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque(maxlen=KEPT_POINTS)

    def note(self, *, at: float, total: int) -> None:
        """Add ``total`` ended mini-batches at time ``at`` (seconds, any clock).

        Points nearer than a second, or without a change, replace the last one
        but one, so that an hour needs 3,600 of them at most.
        """
        points = self._points
        if len(points) >= 2 and (at - points[-2][0] < 1.0 or total == points[-2][1]):
            points[-1] = (at, total)
        else:
            points.append((at, total))

    def total(self) -> int:
        return self._points[-1][1] if self._points else 0

    def total_at(self, moment: float) -> float:
        """Return the number ended at ``moment``, between two points in proportion."""
        points = self._points
        if not points:
            return 0.0
        later = points[-1]
        if moment >= later[0]:
            return float(later[1])
        for point in reversed(points):
            if point[0] <= moment:
                span = later[0] - point[0]
                share = (moment - point[0]) / span if span else 0.0
                return point[1] + share * (later[1] - point[1])
            later = point
        return float(points[0][1])

    def window_seconds(self, now: float) -> float:
        """Return the longer of 60 s and the time of the last 20 completions."""
        if not self._points:
            return WINDOW_SECONDS
        wanted = self.total() - WINDOW_COMPLETIONS
        start = self._points[0][0]
        for at, total in reversed(self._points):
            if total <= wanted:
                start = at
                break
        whole = now - self._points[0][0]
        return min(max(WINDOW_SECONDS, now - start), max(whole, 1e-3))

    def rates(self, now: float) -> list[float]:
        """Return completions per second of the slices of the window, oldest first."""
        window = self.window_seconds(now)
        length = window / SLICES
        marks = [self.total_at(now - window + n * length) for n in range(SLICES + 1)]
        return [(later - earlier) / length for earlier, later in pairwise(marks)]

    def per_minute(self, now: float) -> float:
        """Return completions per minute over the last 60 s."""
        return self.total_at(now) - self.total_at(now - 60.0)


@dataclass(frozen=True)
class Present:
    """What is known besides the history when one looks."""

    is_listing: bool
    done: int
    left: int
    processes: int
    seconds_since_completion: float
    durations: Sequence[float]  # of some finished mini-batches, seconds
    running_for: Sequence[float]  # of those under work, seconds


def estimate_remaining(
    history: CompletionHistory, present: Present, *, now: float
) -> Remaining | None:
    """Return the time left, or None while nothing honest can be said: still
    listing, under 10 completions, or nothing finished for 3 x the median."""
    if present.is_listing or present.done < LEAST_COMPLETIONS or not present.durations:
        return None
    if not present.left:
        return Remaining(0.0, 0.0, 0.0)
    low, median, high = _quartiles(present.durations)
    if present.seconds_since_completion > max(3 * median, 1.0):
        return None
    if present.left < present.processes:
        return _tail(present.running_for, low, median, high)
    slow, middle, fast = _quartiles(history.rates(now))
    if middle <= 0:
        mean = history.total_at(now) - history.total_at(now - history.window_seconds(now))
        middle = mean / history.window_seconds(now)
    if middle <= 0:
        return None
    fast, slow = max(fast, middle), min(slow, middle) or middle / 2
    return Remaining(present.left / fast, present.left / middle, present.left / slow)


def _tail(
    running_for: Sequence[float], low: float, median: float, high: float
) -> Remaining | None:
    """Return the longest expected remainder of those running."""
    if not running_for:
        return None

    def longest(duration: float) -> float:
        return max(max(0.0, duration - seconds) for seconds in running_for)

    return Remaining(longest(low), longest(median), longest(high))


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return (values[0],) * 3
    low, median, high = quantiles(values, n=4, method="inclusive")
    return low, median, high
