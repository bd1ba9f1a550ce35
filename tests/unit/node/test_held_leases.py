from __future__ import annotations

import pytest

from runner.core.leases import Range
from runner.core.wire_format import wire
from runner.node.clocks import PhaseWords
from runner.node.held_leases import HeldLease, settle_death, settle_rest


def lease(queue_id: int, first: int, count: int, *, reported: int = 0) -> HeldLease:
    return HeldLease(queue_id, queue_id, Range(first, count, 1), 0.0, reported)


def words(phase: int, mini_batch: int, *, try_number: int = 1) -> PhaseWords:
    return PhaseWords(phase, mini_batch, since_ns=0, try_number=try_number, done=0)


def test_of_a_dead_process_only_what_it_had_started_counts_a_try():
    held = [lease(4, 10, 10, reported=2), lease(5, 20, 3)]

    settlement = settle_death(held, words(wire.PHASE_RUN, 14))

    assert settlement.started == (14, 1)
    assert settlement.ended == []
    # ended but not reported, then not started; the second piece has no lease of its own
    assert settlement.given_back == [
        (4, Range(12, 2, 1)),
        (0, Range(15, 5, 1)),
        (5, Range(20, 3, 1)),
    ]


@pytest.mark.parametrize(
    ("phase", "mini_batch", "try_number"),
    [
        (wire.PHASE_IDLE, 12, 1),  # had started nothing
        (wire.PHASE_WRITTEN, 11, 1),  # has been reported
        (wire.PHASE_RUN, 14, 2),  # words of another lease
    ],
)
def test_without_a_started_mini_batch_all_goes_back_without_a_try(
    phase, mini_batch, try_number
):
    held = [lease(4, 10, 10, reported=2)]

    settlement = settle_death(held, words(phase, mini_batch, try_number=try_number))

    assert settlement.started is None
    assert settlement.given_back == [(4, Range(12, 8, 1))]


def test_a_mini_batch_that_ended_but_was_not_reported_counts_a_try():
    settlement = settle_death([lease(4, 10, 1)], words(wire.PHASE_WRITTEN, 10))

    assert settlement.started == (10, 1)
    assert settlement.ended == [4]


def test_when_the_segment_cannot_be_written_no_try_is_counted():
    held = [lease(4, 10, 5)]

    settlement = settle_death(held, words(wire.PHASE_WRITE, 10), is_try_counted=False)

    assert settlement.started is None
    assert settlement.given_back == [(4, Range(10, 5, 1))]


def test_a_lease_that_ended_early_gives_its_rest_back():
    assert settle_rest(lease(4, 10, 5, reported=5)).ended == [4]
    assert settle_rest(lease(4, 10, 5, reported=3)).given_back == [(4, Range(13, 2, 1))]


def test_a_lease_that_the_queue_has_forgotten_needs_no_word():
    forgotten = HeldLease(4, 0, Range(10, 2, 1), 0.0, reported=2)

    settlement = settle_rest(forgotten)

    assert (settlement.ended, settlement.given_back) == ([], [])
