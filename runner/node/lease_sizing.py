"""How many mini-batches a process should lease next. Pure.

A lease is about 50 ms of work: much less, and the exchange wakes processes
that share the cores with the user's work; much more, and the page and the
tail of the job are late.
"""

from __future__ import annotations

from dataclasses import dataclass

LEASE_SECONDS = 0.05
# A mini-batch as long as this is leased when the one before has ended: the round
# trip is nothing beside it, and none waits behind it while other processes idle.
LONG_SECONDS = 0.25
MOST = 10_000  # rows of one transaction of the recorder
GROWTH = 16  # the first mini-batches may be quicker than the rest


@dataclass
class LeasePace:
    """What one process's ended leases say about its next one."""

    seconds_each: float | None = None  # smoothed; None before the first has ended
    last_count: int = 1

    def note(self, *, count: int, seconds: float) -> None:
        """Take account of a lease of ``count`` mini-batches that took ``seconds``."""
        each = max(seconds, 1e-6) / max(count, 1)
        # Slower counts at once, faster by half: a lease that is too long hurts more.
        if self.seconds_each is None or each > self.seconds_each:
            self.seconds_each = each
        else:
            self.seconds_each = (self.seconds_each + each) / 2
        self.last_count = max(count, 1)

    def next_count(self) -> int:
        """Return how many mini-batches make about one lease; 1 for the first."""
        if self.seconds_each is None:
            return 1
        fitting = int(LEASE_SECONDS / self.seconds_each)
        return max(1, min(fitting, self.last_count * GROWTH, MOST))

    def outstanding(self) -> int:
        """Return how many leases the process should hold: 2, so that it never
        waits, but 1 before anything is known and for long mini-batches."""
        if self.seconds_each is None or self.seconds_each >= LONG_SECONDS:
            return 1
        return 2
