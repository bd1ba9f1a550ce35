"""Run the sample jobs on a system that has just come up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prsweb.cli.client import ApiClient
from prsweb.cli.console import say
from prsweb.cli.failure import CommandFailed
from prsweb.cli.job_file import read_job_file
from prsweb.cli.job_text import outcome_text
from prsweb.cli.server import Server
from prsweb.cli.submission import EXAMPLES, prepare_example, send_job
from prsweb.cli.up.signals import StopRequest
from prsweb.cli.waiting import wait_for_job
from prsweb.paths import prsweb_home

DEMO_JOBS = ("digits", "iris", "ring")
LEAST_NODES = 2
JOB_MEMBERS = (
    "id",
    "name",
    "kind",
    "state",
    "mini_batches",
    "items",
    "succeeded_items",
    "failed_items",
    "output",
    "folder",
    "seconds",
)


@dataclass
class Demo:
    """Called in a thread once everything is up; ``result`` is what it came to."""

    ends_system: bool  # --exit
    announce: Callable[[str], None] = say
    result: dict[str, Any] | None = None
    failure: CommandFailed | None = None
    _jobs: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, url: str, request: StopRequest) -> None:
        try:
            self._run(url, request)
        except CommandFailed as failed:
            self.failure = failed
            say(f"prs: {failed.message}")
            for problem in failed.problems:
                say(f"  {problem}")
        except Exception as error:
            # Of a thread nobody else would hear: the command must still end, and say why.
            self.failure = CommandFailed(f"unexpected {type(error).__name__}: {error}")
            say(f"prs: {self.failure.message}")
        if self.ends_system:
            say("The jobs have ended; stopping everything.")  # takes some seconds
            request.stop.set()

    @property
    def has_succeeded(self) -> bool:
        jobs = (self.result or {}).get("jobs", [])
        return len(jobs) == len(DEMO_JOBS) and all(job["state"] == "SUCCEEDED" for job in jobs)

    def _run(self, url: str, request: StopRequest) -> None:
        # Not PRSWEB_TOKEN: that may belong to another server.
        client = ApiClient(Server(url.rstrip("/"), prsweb_home().token.read_text().strip()))
        sent = [submit_example(client, name) for name in DEMO_JOBS]
        for job in sent:
            ended = wait_for_job(client, str(job["id"]), stop=request.stop)
            if request.stop.is_set():
                return
            self._jobs.append(ended)
            self._say_result(ended)
        self.result = {
            "url": url,
            "jobs": [{m: job[m] for m in JOB_MEMBERS} for job in self._jobs],
        }
        if not self.ends_system:
            link = client.post("/sign-in-links")["url"]
            self.announce(f"All of it in the browser, by this link, once: {link}")
            self.announce("Ctrl-C stops everything.")

    def _say_result(self, job: dict[str, Any]) -> None:
        self.announce(outcome_text(job))
        if job["output"]:
            self.announce(f"  Output: {job['output']}")
        self.announce(f"  Folder: {job['folder']}")
        check = EXAMPLES / str(job["name"]) / "accuracy.py"
        if job["state"] == "SUCCEEDED" and job["output"] and check.is_file():
            self._say_accuracy(check, Path(job["output"]))

    def _say_accuracy(self, check: Path, output: Path) -> None:
        command = [sys.executable, str(check), str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in (done.stdout or done.stderr).strip().splitlines():
            self.announce(f"  {line}")


def submit_example(client: ApiClient, name: str) -> dict[str, Any]:
    path = EXAMPLES / name / "job.yml"
    prepare_example(path)
    job = send_job(client, read_job_file(path))
    say(f"submitted {name}: {job['url']}")
    return job
