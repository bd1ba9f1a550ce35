"""A whole prsweb on a home of its own, for the benchmarks."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHECKOUT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
STOP_SECONDS = 40.0


class RunningSystem:
    """``./prs up`` on a free port, ended with the block."""

    def __init__(self, home: Path, *, nodes: int) -> None:
        self.home = home
        self.nodes = nodes
        self._up: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        self.log_path = self.home.parent / "up.log"
        with self.log_path.open("wb") as log:
            self._up = subprocess.Popen(
                [*self._prs(), "up", "--nodes", str(self.nodes), "--port", "0"],
                env=self._environment(),
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._up is not None
        self._up.send_signal(signal.SIGTERM)
        self._up.wait(STOP_SECONDS)

    def submit_and_wait(self, job_file: Path) -> dict[str, Any]:
        """Return the ended job's JSON, also of a job that failed."""
        return self.command("submit", str(job_file), "--wait")

    def command(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [*self._prs(), *arguments, "--json"],
            env=self._environment(),
            stdout=subprocess.PIPE,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer

    def _wait_until_ready(self) -> None:
        assert self._up is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._up.poll() is not None:
                raise RuntimeError(f"up ended:\n{self.log_path.read_text()}")
            try:
                if len(self.command("nodes")["items"]) == self.nodes:
                    return
            except (RuntimeError, ValueError):
                pass
            time.sleep(0.2)
        raise RuntimeError(f"not ready in time:\n{self.log_path.read_text()}")

    def _prs(self) -> list[str]:
        return [sys.executable, "-m", "prsweb.cli"]

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if "PRSWEB" not in key}
        return kept | {"PRSWEB_HOME": str(self.home), "PYTHONPATH": str(CHECKOUT)}


def machine_facts() -> dict[str, Any]:
    """Return date, commit, machine and versions of a benchmark run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
