"""What one worker process holds, and what becomes of it when it dies. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from runner.core.leases import Range
from runner.core.wire_format import wire
from runner.node.clocks import PhaseWords


@dataclass
class HeldLease:
    """A lease handed to a process.

    The process knows it by ``local_id``. ``queue_id`` is the one in Redis: it
    changes when the queue was made anew, and is 0 when the queue has forgotten
    the lease; its reports then count if they are the first.
    """

    local_id: int
    queue_id: int
    range: Range
    granted_at: float  # monotonic
    reported: int = 0  # mini-batches whose records were passed on, from the first

    @property
    def unreported(self) -> Range:
        return Range(
            self.range.first + self.reported,
            max(0, self.range.count - self.reported),
            self.range.try_number,
        )


@dataclass
class Settlement:
    """What the queue must be told: leases over, and ranges put back."""

    ended: list[int] = field(default_factory=list)
    given_back: list[tuple[int, Range]] = field(default_factory=list)
    started: tuple[int, int] | None = None  # mini-batch and try that must be recorded


def settle_rest(lease: HeldLease) -> Settlement:
    """Return how a lease ends of which nothing is under work: what was not
    reported goes back without a try."""
    return _settle_pieces(lease, [lease.unreported])


def settle_death(
    leases: Iterable[HeldLease], words: PhaseWords, *, is_try_counted: bool = True
) -> Settlement:
    """Return how the leases of a dead process end, oldest lease first.

    The mini-batch it had started has a failed try, to be recorded by the
    caller, if such a try counts. Those ended but not reported go back without
    one, for nobody knows their rows, and so do those it had not started.
    """
    whole = Settlement()
    for lease in leases:
        part = _settle_dead_lease(lease, words) if is_try_counted else settle_rest(lease)
        whole.ended += part.ended
        whole.given_back += part.given_back
        whole.started = whole.started or part.started
    return whole


def _settle_dead_lease(lease: HeldLease, words: PhaseWords) -> Settlement:
    left, index = lease.unreported, words.mini_batch
    is_started = (
        words.phase in wire.STARTED_PHASES
        and words.try_number == left.try_number
        and left.first <= index < left.end
    )
    if not is_started:
        return _settle_pieces(lease, [left])
    before = Range(left.first, index - left.first, left.try_number)
    after = Range(index + 1, left.end - index - 1, left.try_number)
    settlement = _settle_pieces(lease, [before, after])
    settlement.started = (index, left.try_number)
    return settlement


def _settle_pieces(lease: HeldLease, pieces: list[Range]) -> Settlement:
    filled = [piece for piece in pieces if piece.count > 0]
    if not filled:
        return Settlement(ended=[lease.queue_id] if lease.queue_id else [])
    ids = [lease.queue_id] + [0] * (len(filled) - 1)
    return Settlement(given_back=list(zip(ids, filled, strict=True)))
