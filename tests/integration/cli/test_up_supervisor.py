"""Parts that die, that will not start, and that will not end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from prsweb.cli.up.part import Part, StopStage
from prsweb.cli.up.supervisor import PartKeepsFailing, Supervisor

WRITES_ITS_PID = """
    import os, sys, time
    open({pids!r}, "a").write(f"{{os.getpid()}}\\n")
    time.sleep(60)
"""
IGNORES_TERM = """
    import os, signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open({pids!r}, "a").write(f"{{os.getpid()}}\\n")
    time.sleep(60)
"""
NOTES_ITS_END = """
    import os, signal, sys, time
    def end(*_):
        open({ends!r}, "a").write("{name}\\n")
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    open({pids!r}, "a").write(f"{{os.getpid()}}\\n")
    time.sleep(60)
"""


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(said.append)
    yield made
    hurry = Event()
    hurry.set()
    made.stop(hurry=hurry)


def pids_in(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_part_that_is_killed_is_started_again_and_said_in_words(
    supervisor: Supervisor,
    said: list[str],
    make_part: Callable[..., Part],
    tmp_path: Path,
    wait_until: Any,
) -> None:
    pids = tmp_path / "pids"
    supervisor.start(make_part("web", WRITES_ITS_PID.format(pids=str(pids))))
    wait_until(lambda: len(pids_in(pids)) == 1, what="web is up")

    os.kill(pids_in(pids)[0], signal.SIGKILL)

    def is_back() -> bool:
        supervisor.look()
        return len(pids_in(pids)) == 2

    wait_until(is_back, what="web is up again")
    first, second = pids_in(pids)
    assert first != second
    assert said == [f"web (pid {first}) was killed by signal 9 (SIGKILL); starting it again"]


def test_a_part_that_never_starts_ends_the_system_with_the_end_of_its_log(
    supervisor: Supervisor, said: list[str], make_part: Callable[..., Part]
) -> None:
    supervisor.start(make_part("web", "print('no such setting'); raise SystemExit(3)"))

    deadline = time.monotonic() + 30
    with pytest.raises(PartKeepsFailing) as failing:
        while time.monotonic() < deadline:
            supervisor.look()
            time.sleep(0.01)

    assert "web ended 5 times in a row right after its start" in str(failing.value)
    assert "exit code 3" in str(failing.value)
    assert "no such setting" in str(failing.value)
    assert len(said) == 4


def test_stages_end_one_after_the_other(
    supervisor: Supervisor, make_part: Callable[..., Part], tmp_path: Path, wait_until: Any
) -> None:
    pids, ends = tmp_path / "pids", tmp_path / "ends"
    stages = {
        "redis": StopStage.REDIS,
        "orchestrator": StopStage.ORCHESTRATOR,
        "n1": StopStage.WORK,
    }
    for name, stage in stages.items():
        code = NOTES_ITS_END.format(pids=str(pids), ends=str(ends), name=name)
        supervisor.start(make_part(name, code, stage=stage))
    wait_until(lambda: len(pids_in(pids)) == 3, what="three parts are up")

    left = supervisor.stop(hurry=Event())

    assert left == []
    assert ends.read_text().split() == ["n1", "orchestrator", "redis"]


def test_a_part_that_ignores_sigterm_is_killed_with_its_children(
    supervisor: Supervisor, make_part: Callable[..., Part], tmp_path: Path, wait_until: Any
) -> None:
    pids = tmp_path / "pids"
    child = "import os; os.fork()" + IGNORES_TERM.format(pids=str(pids))
    code = "import os\nos.fork()\n" + "\n".join(
        line.strip() for line in child.splitlines()[1:] if line.strip()
    )
    supervisor.start(make_part("n1", code, grace_seconds=0.3))
    wait_until(lambda: len(pids_in(pids)) == 2, what="the part and its child are up")

    left = supervisor.stop(hurry=Event())

    assert left == []
    wait_until(lambda: not any(_is_alive(pid) for pid in pids_in(pids)), what="both are gone")


def test_a_hurried_stop_waits_for_no_grace(
    supervisor: Supervisor, make_part: Callable[..., Part], tmp_path: Path, wait_until: Any
) -> None:
    pids = tmp_path / "pids"
    code = IGNORES_TERM.format(pids=str(pids))
    supervisor.start(make_part("n1", code, grace_seconds=600))
    wait_until(lambda: len(pids_in(pids)) == 1, what="n1 is up")
    hurry = Event()
    hurry.set()

    left = supervisor.stop(hurry=hurry)

    assert left == []
    assert not _is_alive(pids_in(pids)[0])


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
