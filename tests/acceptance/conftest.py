"""Running systems: one that no test may harm, and one whose parts are killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.live_system import EXAMPLES, LiveSystem
from tests.acceptance.step_jobs import MakeGang, MakeStep, write_gang, write_step

START_AGAIN_SECONDS = 30.0
DIGITS = EXAMPLES / "digits" / "job.yml"


class MortalSystems:
    """One system after the other: a new one when the last has not recovered."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()
        self._current: LiveSystem | None = None

    def healthy_one(self) -> LiveSystem:
        if self._current is not None and not self._has_recovered(self._current):
            self.stop()
        if self._current is None:
            root = self._folder / f"home-{next(self._numbers)}"
            self._current = LiveSystem(root, nodes=2).__enter__()
        return self._current

    def stop(self) -> None:
        system, self._current = self._current, None
        if system is not None:
            system.stop()

    def _has_recovered(self, system: LiveSystem) -> bool:
        deadline = time.monotonic() + START_AGAIN_SECONDS
        while system.is_running() and time.monotonic() < deadline:
            if system.is_ready():
                return True
            time.sleep(0.1)
        return False


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSystem]:
    """A system of three nodes that no test may harm."""
    with LiveSystem(tmp_path_factory.mktemp("shared") / "home", nodes=3) as running:
        yield running


@pytest.fixture(scope="session")
def mortal_systems(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MortalSystems]:
    systems = MortalSystems(tmp_path_factory.mktemp("mortal"))
    yield systems
    systems.stop()


@pytest.fixture
def own_system(mortal_systems: MortalSystems) -> LiveSystem:
    """A system of two nodes whose parts a test may kill: each must come back."""
    return mortal_systems.healthy_one()


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
    # Long enough that every process takes part, also one that is slow to start.
    job = system.run(DIGITS, arguments="--pause_seconds 0.15")
    assert job["state"] == "SUCCEEDED", job["reason"]
    return job


@pytest.fixture(scope="session")
def faulty(system: LiveSystem) -> dict[str, Any]:
    """The faulty example, ended."""
    return system.run(EXAMPLES / "faulty" / "job.yml")
