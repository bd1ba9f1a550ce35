"""A whole prsweb: ``./prs up`` on a home of its own, driven as a user drives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import pytest

from runner.core.layout import Home, JobFolder
from tests.acceptance.processes_of_home import processes_of

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLES = CHECKOUT / "examples"
START_SECONDS = 60.0
STOP_SECONDS = 40.0
COMMAND_SECONDS = 120.0
JOB_SECONDS = 90.0
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")

FoundT = TypeVar("FoundT")


def wait_for(
    condition: Callable[[], FoundT], what: str, *, seconds: float = JOB_SECONDS
) -> FoundT:
    """Return what ``condition`` gives once it is true; fail with ``what`` when late."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail(f"{what} did not happen within {seconds} s")


@dataclass(frozen=True)
class CommandResult:
    """What one ``./prs`` command left behind."""

    status: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output; fails when there is anything else."""
        return json.loads(self.output)


class LiveSystem:
    """``./prs up`` on a free port, and the commands and calls of its users."""

    def __init__(self, root: Path, *, nodes: int, settings: Mapping[str, str] | None = None):
        self.home = Home(root)
        self.nodes = nodes
        self.up_log = root.with_name(f"{root.name}-up.log")
        self._settings = dict(settings or {})
        self._up: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.up_log.open("wb") as log:
            self._up = subprocess.Popen(
                [*PRS, "up", "--nodes", str(self.nodes), "--port", "0"],
                env=self.environment(),
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            wait_for(self.is_ready, "a system that is ready", seconds=START_SECONDS)
        except BaseException:
            self.stop()
            print(self.up_log.read_text())
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    # --- the system itself ---

    @property
    def up_pid(self) -> int:
        assert self._up is not None
        return self._up.pid

    @property
    def url(self) -> str:
        return str(json.loads(self.home.server_file.read_text())["url"]).rstrip("/")

    @property
    def token(self) -> str:
        return self.home.token.read_text().strip()

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PRSWEB_")}
        return kept | {"PRSWEB_HOME": str(self.home.root)} | self._settings

    def is_running(self) -> bool:
        return self._up is not None and self._up.poll() is None

    def is_ready(self) -> bool:
        assert self._up is not None
        if self._up.poll() is not None:
            pytest.fail(f"prs up ended:\n{self.up_log.read_text()}")
        if not self.home.server_file.exists():
            return False
        try:
            return httpx.get(f"{self.url}/readyz", timeout=10).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> int:
        """End it as ``kill`` does; return its exit status."""
        assert self._up is not None
        self._up.send_signal(signal.SIGTERM)
        try:
            return self._up.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._up.kill()
            self._up.wait()
            pytest.fail(f"prs up did not end:\n{self.up_log.read_text()}")
        finally:
            left = processes_of(self.home.root)
            for process in left:
                process.kill()
            if left:
                pytest.fail(f"left running: {left}")

    def wait_for_end(self) -> int:
        """Wait until it has ended by itself; return its exit status."""
        assert self._up is not None
        return self._up.wait(STOP_SECONDS)

    # --- commands ---

    def prs(self, *arguments: str | Path, seconds: float = COMMAND_SECONDS) -> CommandResult:
        """Run one command to its end, whatever its exit status."""
        done = subprocess.run(
            [*PRS, *map(str, arguments)],
            env=self.environment(),
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def prs_json(self, *arguments: str | Path) -> Any:
        """Run a command that must do what it is told; return its JSON."""
        done = self.prs(*arguments, "--json")
        assert done.status == 0, done
        return done.json

    def submit(self, job_file: Path, **changes: Any) -> str:
        """Submit, with ``--set`` for each change; return the job's id."""
        settings = [f"--set={key}={_set_value(value)}" for key, value in changes.items()]
        return str(self.prs_json("submit", job_file, *settings)["id"])

    def run(self, job_file: Path, **changes: Any) -> dict[str, Any]:
        """Submit, wait for the end, return the ended job, also a failed one."""
        return self.ended(self.submit(job_file, **changes))

    # --- calls ---

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        return httpx.request(
            method, f"{self.url}/api/v1{path}", headers=headers, timeout=30, **options
        )

    def get(self, path: str, /, **query: Any) -> Any:
        answer = self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pages(self, path: str, /, **query: Any) -> Iterator[dict[str, Any]]:
        """Give every item of a list, page after page."""
        after: dict[str, Any] = {}
        while True:
            page = self.get(path, limit=100, **query, **after)
            yield from page["items"]
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    def signed_in(self) -> httpx.Client:
        """A browser's place in the dashboard: the session of a one-time link."""
        client = httpx.Client(base_url=self.url, follow_redirects=True, timeout=30)
        assert client.get(self.prs_json("sign-in")["url"]).status_code == 200
        return client

    def job(self, job_id: str) -> dict[str, Any]:
        return dict(self.get(f"/jobs/{job_id}"))

    def ended(self, job_id: str, *, seconds: float = JOB_SECONDS) -> dict[str, Any]:
        """Wait for the end of a job; return it."""

        def ended_job() -> dict[str, Any] | None:
            job = self.job(job_id)
            return job if job["state"] in ENDED else None

        try:
            job = wait_for(ended_job, f"the end of job {job_id}", seconds=seconds)
        except BaseException:
            self.show_what_happened(job_id)
            raise
        assert job is not None
        return job

    def wait_until_done(self, job_id: str, count: int) -> None:
        """Wait until ``count`` mini-batches have their outcome."""
        wait_for(
            lambda: self.job(job_id)["progress"]["succeeded"] >= count,
            f"{count} processed mini-batches of job {job_id}",
        )

    def folder(self, job_id: str) -> JobFolder:
        return self.home.job(job_id)

    def log_text(self, job_id: str, path: str) -> str:
        return (self.folder(job_id).logs / path).read_text()

    def overview(self, job_id: str) -> str:
        """The newest progress overview."""
        return self.log_text(job_id, "job_progress_overview.txt")

    def show_what_happened(self, job_id: str) -> None:
        """Print what a failed test's reader needs."""
        print(json.dumps(self.job(job_id), indent=1)[:3000])
        for path in sorted(self.folder(job_id).logs.glob("job_*.txt")):
            print(f"--- {path.name}\n{path.read_text()[-2000:]}")
        for path in sorted(self.home.logs.glob("*.log")):
            print(f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}")


def lines_of(system: LiveSystem, job_id: str, one_try: dict[str, Any]) -> list[str]:
    """Return what the script printed in one try, by the places that the API names."""
    found: list[str] = []
    for place in one_try["log_ranges"]:
        if place["path"].startswith("user/stdout/"):
            count = place["last"] - place["first"] + 1
            page = system.get(
                f"/jobs/{job_id}/logs/range",
                path=place["path"],
                first=place["first"],
                count=count,
            )
            found += page["lines"]
    return found


PRS = (sys.executable, "-m", "prsweb.cli")


def _set_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
