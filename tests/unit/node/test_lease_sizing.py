from __future__ import annotations

import pytest

from runner.node.lease_sizing import GROWTH, LONG_SECONDS, MOST, LeasePace


def test_the_first_lease_of_a_process_is_one_mini_batch_and_alone():
    pace = LeasePace()

    assert pace.next_count() == 1
    assert pace.outstanding() == 1


def test_leases_grow_to_about_50_ms_of_work_step_by_step():
    pace = LeasePace()
    counts = []

    for _ in range(6):
        pace.note(count=pace.next_count(), seconds=pace.next_count() * 50e-6)
        counts.append(pace.next_count())

    assert counts[0] == GROWTH
    assert counts[-1] == pytest.approx(1000, abs=1)
    assert pace.outstanding() == 2


def test_a_slower_lease_counts_at_once_a_faster_one_by_half():
    pace = LeasePace()
    pace.note(count=100, seconds=0.1)

    pace.note(count=10, seconds=0.1)
    assert pace.seconds_each == pytest.approx(0.01)

    pace.note(count=10, seconds=0.05)
    assert pace.seconds_each == pytest.approx(0.0075)


def test_long_mini_batches_are_leased_one_by_one():
    pace = LeasePace()

    pace.note(count=1, seconds=LONG_SECONDS)

    assert pace.next_count() == 1
    assert pace.outstanding() == 1


def test_no_lease_is_larger_than_one_transaction_of_the_recorder():
    pace = LeasePace()

    for _ in range(10):
        pace.note(count=pace.next_count(), seconds=1e-9)

    assert pace.next_count() == MOST
