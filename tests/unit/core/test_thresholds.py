"""A threshold of N lets N pass and ends the job at N + 1."""

from __future__ import annotations

import pytest

from runner.core.thresholds import (
    Limits,
    Tally,
    find_exceeded,
    is_not_reporting,
    is_nothing_succeeded,
)


@pytest.mark.parametrize(("failed", "ends"), [(0, False), (10, False), (11, True)])
def test_error_threshold_counts_failed_items(failed: int, ends: bool) -> None:
    tally = Tally(created=100, failed_items=failed)

    exceeded = find_exceeded(Limits(error_threshold=10), tally)

    assert (exceeded is not None) is ends
    if exceeded:
        assert (exceeded.setting, exceeded.value) == ("error_threshold", 11)


def test_minus_one_never_ends_a_job() -> None:
    tally = Tally(created=10, failed=10, failed_items=10**9)

    assert find_exceeded(Limits(), tally) is None


def test_zero_allows_no_failure() -> None:
    assert find_exceeded(Limits(error_threshold=0), Tally(failed_items=1)) is not None


@pytest.mark.parametrize(("failed", "partial", "ends"), [(1, 1, False), (2, 1, True)])
def test_mini_batch_threshold_counts_failed_and_partial(
    failed: int, partial: int, ends: bool
) -> None:
    tally = Tally(created=9, failed=failed, partial=partial, results=5)

    assert (find_exceeded(Limits(mini_batch_error_threshold=2), tally) is not None) is ends


def test_the_percentage_waits_until_all_are_listed() -> None:
    limits = Limits(allowed_failed_percent=5)

    assert find_exceeded(limits, Tally(created=100, failed=6, is_listing=True)) is None
    assert find_exceeded(limits, Tally(created=100, failed=5)) is None
    exceeded = find_exceeded(limits, Tally(created=100, failed=6))
    assert exceeded is not None
    assert exceeded.value == pytest.approx(6.0)


def test_a_script_that_does_not_report_is_left_out_of_mini_batch_thresholds() -> None:
    limits = Limits(mini_batch_error_threshold=0, is_summary_only=True)
    silent = Tally(created=5, partial=5, failed_items=50)

    assert is_not_reporting(limits, silent)
    assert find_exceeded(limits, silent) is None
    assert find_exceeded(limits, Tally(created=5, partial=5, results=1)) is not None
    assert find_exceeded(limits, Tally(created=5, partial=4, failed=1)) is not None
    with_items = Limits(error_threshold=0, is_summary_only=True)
    assert find_exceeded(with_items, silent) is not None


@pytest.mark.parametrize(
    ("tally", "expected"),
    [
        (Tally(created=3, partial=3), True),
        (Tally(created=3, failed=3), True),
        (Tally(created=3, partial=2), False),
        (Tally(created=3, partial=3, is_listing=True), False),
        (Tally(created=3, partial=3, succeeded_items=1), False),
        (Tally(created=3, succeeded=3), False),
    ],
)
def test_nothing_succeeded_is_seen_at_the_end_only(tally: Tally, expected: bool) -> None:
    assert is_nothing_succeeded(Limits(), tally) is expected


def test_summary_only_may_succeed_without_an_item() -> None:
    assert not is_nothing_succeeded(Limits(is_summary_only=True), Tally(created=1, partial=1))


def test_the_items_of_a_job_are_those_loaded_once_every_mini_batch_has_ended() -> None:
    underway = Tally(created=2, succeeded=1, succeeded_items=1)
    complete = Tally(created=2, succeeded=1, failed=1, succeeded_items=1, failed_items=3)

    assert underway.items_in_all(10) == 10
    assert complete.items_in_all(10) == 4
    assert Tally().items_in_all(0) == 0
