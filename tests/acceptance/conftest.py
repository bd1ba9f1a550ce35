"""Running systems: one for all tests that leave its parts alone, one for each other test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from live_system import EXAMPLES, LiveSystem
from step_jobs import MakeGang, MakeStep, write_gang, write_step

DIGITS = EXAMPLES / "digits" / "job.yml"


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSystem]:
    """A system of three nodes that no test may harm."""
    with LiveSystem(tmp_path_factory.mktemp("shared") / "home", nodes=3) as running:
        yield running


@pytest.fixture
def make_system(tmp_path: Path) -> Iterator[Callable[..., LiveSystem]]:
    """Return ``make_system(nodes=2)``: a system of the test's own, to be harmed."""
    running: list[LiveSystem] = []

    def make(**options: Any) -> LiveSystem:
        options = {"nodes": 2} | options
        one = LiveSystem(tmp_path / f"home-{len(running)}", **options).__enter__()
        running.append(one)
        return one

    yield make
    for one in running:
        one.stop()


@pytest.fixture
def own_system(make_system: Callable[..., LiveSystem]) -> LiveSystem:
    """A system of two nodes of the test's own."""
    return make_system()


@pytest.fixture
def make_step(tmp_path: Path) -> MakeStep:
    """Return ``make_step(script, files=20, **fields)``, see ``write_step``."""
    numbers = count()
    return lambda script, **fields: write_step(
        tmp_path / f"step-{next(numbers)}", script, **fields
    )


@pytest.fixture
def make_gang(tmp_path: Path) -> MakeGang:
    """Return ``make_gang({"0": "shell text", …}, **fields)``, see ``write_gang``."""
    numbers = count()
    return lambda groups, **fields: write_gang(
        tmp_path / f"gang-{next(numbers)}", groups, **fields
    )


@pytest.fixture(scope="session")
def digits(system: LiveSystem) -> dict[str, Any]:
    """The digits job as it ends when nothing happens to it."""
    job = system.run(DIGITS, arguments="--pause_seconds 0")
    assert job["state"] == "SUCCEEDED", job["reason"]
    return job


@pytest.fixture(scope="session")
def faulty(system: LiveSystem) -> dict[str, Any]:
    """The faulty example, ended."""
    return system.run(EXAMPLES / "faulty" / "job.yml")
