"""Small real programs in the place of the parts of a system."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from prsweb.cli.up.leftovers import UP_MARK
from prsweb.cli.up.part import Part, StopStage
from runner.core.layout import Home

UP_ID = f"test-{os.getpid()}"


@pytest.fixture
def up_id() -> str:
    """The mark that a test's parts carry."""
    return UP_ID


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """A PRSWEB_HOME that nobody has made yet."""
    return Home(tmp_path / "prsweb home")


@pytest.fixture
def make_part(tmp_path: Path, place: Home) -> Callable[..., Part]:
    """Return ``make_part(name, code)``: a part that runs Python code."""

    def make(
        name: str, code: str, *, stage: StopStage = StopStage.WORK, grace_seconds: float = 5.0
    ) -> Part:
        return Part(
            name=name,
            argv=(sys.executable, "-c", textwrap.dedent(code)),
            environment={
                "PATH": os.environ["PATH"],
                "PRSWEB_HOME": str(place.root),
                UP_MARK: UP_ID,
            },
            log=tmp_path / f"{name}.log",
            stage=stage,
            grace_seconds=grace_seconds,
        )

    return make


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fail when a test leaves a process with its mark; end it for the next test."""
    yield
    left = [process for process in psutil.process_iter() if _is_marked(process)]
    for process in left:
        process.kill()
    assert not left, f"left running: {left}"


def _is_marked(process: psutil.Process) -> bool:
    try:
        return (
            process.environ().get(UP_MARK) == UP_ID and process.status() != psutil.STATUS_ZOMBIE
        )
    except (psutil.Error, OSError):
        return False
