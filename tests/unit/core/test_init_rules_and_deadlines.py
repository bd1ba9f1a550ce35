from __future__ import annotations

from dataclasses import replace

import pytest

from runner.core.deadlines import Deadlines, Moment, find_expired
from runner.core.init_rules import JobInits, NodeInits, is_stuck

DEADLINES = Deadlines(first_task_creation=600, progress_update=270, time_limit=3600)
MOMENT = Moment(
    running_seconds=100, created=5, is_listing=False, seconds_since_end=1, ready_processes=2
)


def test_a_node_is_given_up_after_three_failures_a_process_without_a_success() -> None:
    inits = NodeInits(process_count=2)
    for _ in range(5):
        inits.note_failure()

    assert not inits.is_given_up
    inits.note_failure()
    assert inits.is_given_up
    inits.note_success()
    assert not inits.is_given_up


@pytest.mark.parametrize(
    ("failures", "has_succeeded", "seconds", "expected"),
    [
        (16, False, 121, True),
        (15, False, 121, False),
        (16, False, 120, False),
        (99, True, 999, False),
    ],
)
def test_a_job_fails_when_no_init_has_ever_succeeded(
    failures: int, has_succeeded: bool, seconds: float, expected: bool
) -> None:
    inits = JobInits(failures, has_succeeded, process_count=8)

    assert inits.is_failed(running_seconds=seconds) is expected


def test_a_job_is_stuck_when_every_process_is_in_init_for_too_long() -> None:
    def stuck(phases: list[str], seconds: float) -> bool:
        return is_stuck(phases, seconds_since_event=seconds, run_invocation_timeout=2)

    assert stuck(["init", "init"], 36.1)
    assert not stuck(["init", "init"], 36.0)
    assert not stuck(["init", "run"], 99)
    assert not stuck([], 99)


@pytest.mark.parametrize(
    ("moment", "cause"),
    [
        (MOMENT, None),
        (replace(MOMENT, running_seconds=3600.5), "time_limit"),
        (
            replace(MOMENT, running_seconds=601, created=0, is_listing=True),
            "first_task_timeout",
        ),
        (replace(MOMENT, running_seconds=601, created=0), None),
        (replace(MOMENT, seconds_since_end=270.5), "no_progress"),
        (replace(MOMENT, seconds_since_end=270.0), None),
        (replace(MOMENT, seconds_since_end=999, ready_processes=0), None),
        (replace(MOMENT, seconds_since_end=None), None),
    ],
)
def test_deadlines(moment: Moment, cause: str | None) -> None:
    expired = find_expired(DEADLINES, moment)

    assert (expired.cause if expired else None) == cause
