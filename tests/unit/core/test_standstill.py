from __future__ import annotations

from runner.core.messages import LiveProcess
from runner.core.standstill import describe_processes, is_first_pick_late, is_standing_still


def live(*phases: str) -> list[LiveProcess]:
    return [
        LiveProcess(number, phase, None, 40.0 + number, 0, None, 1)
        for number, phase in enumerate(phases)
    ]


def test_what_all_processes_do_is_said_once() -> None:
    assert describe_processes(live("init", "init")) == (
        "all 2 processes are in init(), longest for 41 s"
    )
    assert describe_processes(live("run")) == (
        "the one process is inside run(), longest for 40 s"
    )
    assert describe_processes([]) == "no process is there"


def test_what_differs_is_counted() -> None:
    assert describe_processes(live("run", "run", "idle")) == (
        "of 3 processes 2 inside run(), 1 waiting for work, longest for 42 s"
    )


def test_the_first_pick_is_late_after_a_minute() -> None:
    assert is_first_pick_late(running_seconds=60, ended=0, live=live("init"))
    assert not is_first_pick_late(running_seconds=59, ended=0, live=live("init"))
    assert not is_first_pick_late(running_seconds=99, ended=0, live=live("run"))
    assert not is_first_pick_late(running_seconds=99, ended=1, live=live("init"))


def test_a_standstill_needs_every_process_to_be_busy() -> None:
    assert is_standing_still(silent_seconds=50, limit_seconds=100, live=live("run", "load"))
    assert not is_standing_still(silent_seconds=50, limit_seconds=100, live=live("run", "idle"))
    assert not is_standing_still(silent_seconds=49, limit_seconds=100, live=live("run"))
    assert not is_standing_still(silent_seconds=99, limit_seconds=100, live=[])
