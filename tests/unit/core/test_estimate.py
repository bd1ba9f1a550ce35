"""The time left is said only when it can be known, and then as a range."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.core.estimate import CompletionHistory, Present, estimate_remaining

STEADY = Present(
    is_listing=False,
    done=100,
    left=100,
    processes=4,
    seconds_since_completion=0.5,
    durations=[1.0] * 20,
    running_for=[0.5],
)


def steady_history() -> CompletionHistory:
    """One completion a second for 100 s."""
    history = CompletionHistory()
    for second in range(101):
        history.note(at=float(second), total=second)
    return history


def test_a_steady_rate_gives_left_divided_by_rate() -> None:
    remaining = estimate_remaining(steady_history(), STEADY, now=100.0)

    assert remaining is not None
    assert remaining.middle == pytest.approx(100.0, rel=0.05)
    assert remaining.low <= remaining.middle <= remaining.high


@pytest.mark.parametrize(
    "present",
    [
        replace(STEADY, is_listing=True),
        replace(STEADY, done=9),
        replace(STEADY, seconds_since_completion=3.1),
    ],
    ids=["listing", "under ten", "nothing for three times the median"],
)
def test_nothing_is_said_when_nothing_honest_can_be_said(present: Present) -> None:
    assert estimate_remaining(steady_history(), present, now=100.0) is None


def test_in_the_tail_the_longest_one_running_counts() -> None:
    tail = replace(STEADY, left=2, durations=[10.0] * 20, running_for=[9.0, 3.0])

    remaining = estimate_remaining(steady_history(), tail, now=100.0)

    assert remaining is not None
    assert remaining.middle == pytest.approx(7.0)


def test_slow_mini_batches_widen_the_window_to_twenty_completions() -> None:
    history = CompletionHistory()
    for number in range(31):
        history.note(at=30.0 * number, total=number)

    assert history.window_seconds(900.0) == pytest.approx(600.0)


def test_a_long_history_stays_small() -> None:
    history = CompletionHistory()
    for tick in range(200_000):
        history.note(at=tick * 0.05, total=tick)

    assert len(history._points) <= 4000
    assert history.total() == 199_999
