"""A worker process of the test's own, ended with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.harness.worker_process_driver import WorkerProcess

ECHO = "def run(mini_batch):\n    return list(mini_batch)\n"


@pytest.fixture
def make_process(tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Return ``make_process(script, **config)``; the process is not started yet."""
    made: list[WorkerProcess] = []

    def make(script: str = ECHO, **config: Any) -> WorkerProcess:
        process = WorkerProcess(tmp_path / f"job{len(made)}", config=config)
        process.write_script(script)
        made.append(process)
        return process

    yield make
    for process in made:
        process.stop()
