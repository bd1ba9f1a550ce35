from __future__ import annotations

from runner.node.crew import back_off_seconds


def test_a_slot_waits_longer_after_each_failure_and_ten_seconds_at_most():
    waits = [back_off_seconds(failures) for failures in range(8)]

    assert waits == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
