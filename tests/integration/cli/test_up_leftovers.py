"""What daemonises is found by its mark; what only exported PRSWEB_HOME is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prsweb.cli.up.leftovers import UP_MARK, Marks, find_marked, sweep
from runner.core.layout import Home

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return ``start(**environment)``: a process in a session of its own."""
    started: list[subprocess.Popen[bytes]] = []

    def run(**environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"],
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_part_is_known_by_the_mark_of_its_system(place: Home, start: Start) -> None:
    ours = start(**{UP_MARK: "one", "PRSWEB_HOME": str(place.root)})
    start(**{UP_MARK: "another", "PRSWEB_HOME": str(place.root)})
    start(PRSWEB_HOME=str(place.root))  # a shell of the user

    found = find_marked(Marks(place, "one", frozenset({"n1"})))

    assert found == {ours.pid}


def test_a_jobs_process_is_known_by_its_work_directory_and_node(
    place: Home, start: Start
) -> None:
    work = str(place.jobs / "9f1c" / "nodes" / "n1" / "work")
    ours = start(PRSWEB_WORK_DIR=work, PRSWEB_NODE_NAME="n1")
    without_name = start(PRSWEB_WORK_DIR=work)
    start(PRSWEB_WORK_DIR=work, PRSWEB_NODE_NAME="n9")  # of a node joined by hand
    start(PRSWEB_WORK_DIR="/elsewhere/jobs/9f1c", PRSWEB_NODE_NAME="n1")

    found = find_marked(Marks(place, "one", frozenset({"n1"})))

    assert found == {ours.pid, without_name.pid}


def test_a_sweep_ends_what_it_finds_but_for_what_is_spared(
    place: Home, start: Start, wait_until: Any
) -> None:
    marks = Marks(place, "one", frozenset())
    gone, spared = start(**{UP_MARK: "one"}), start(**{UP_MARK: "one"})

    count = sweep(marks, spare=frozenset({spared.pid}))

    assert count == 1
    wait_until(lambda: gone.poll() is not None, what="the process is gone")
    assert spared.poll() is None
