"""People, jobs and folders that tests start from.

alice owns, bob must not see; vera only reads, olga operates, ada administers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.core.layout import Home


@pytest.fixture
def home(tmp_path: Path, settings: Any) -> Home:
    """A PRSWEB_HOME of the test's own."""
    home = Home(tmp_path / "home")
    for folder in (home.private, home.jobs, home.uploads):
        folder.mkdir(parents=True)
    settings.PRSWEB_HOME = home
    settings.PRSWEB_INPUT_ROOTS = (tmp_path.resolve(),)
    return home


@pytest.fixture
def no_redis(settings: Any, tmp_path: Path) -> None:
    """Redis is away: nothing listens on that socket."""
    settings.PRSWEB_REDIS_URL = f"unix://{tmp_path}/nobody.sock"


def _user(name: str, role: str) -> Any:
    from prsweb.accounts.models import User

    return User.objects.create_user(name, role=role)


@pytest.fixture
def alice(db: None) -> Any:
    return _user("alice", "submitter")


@pytest.fixture
def bob(db: None) -> Any:
    return _user("bob", "submitter")


@pytest.fixture
def vera(db: None) -> Any:
    return _user("vera", "viewer")


@pytest.fixture
def olga(db: None) -> Any:
    return _user("olga", "operator")


@pytest.fixture
def ada(db: None) -> Any:
    return _user("ada", "admin")


@pytest.fixture
def make_job(alice: Any, home: Home) -> Callable[..., Any]:
    """Return ``make_job(**fields)``: a job of alice with realistic defaults and its folder."""
    from django.utils import timezone

    from prsweb.jobs.models import ComputeEnvironment, Job, JobQueue

    # A test that really commits begins with empty tables, the migrations' rows too.
    ComputeEnvironment.objects.get_or_create(name="default")
    queue, _ = JobQueue.objects.get_or_create(
        name="default", defaults={"environments": ["default"]}
    )

    def make(**fields: Any) -> Any:
        defaults = {
            "name": "digits",
            "kind": "parallel_run_step",
            "state_reason": "as the test made it",
            "owner": alice,
            "queue": queue,
            "spec": {"kind": "parallel_run_step", "name": "digits"},
            "version": "0.1.0",
            "submitted_at": timezone.now(),
        }
        job = Job.objects.create(**(defaults | fields))
        folder = home.job(job.job_id)
        for path in (folder.snapshot, folder.logs, folder.output):
            path.mkdir(parents=True)
        return job

    return make


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tasks handed to Celery, the one door that is replaced."""
    names: list[str] = []
    monkeypatch.setattr(
        "prsweb.jobs.dispatch.app.send_task",
        lambda name, args, queue, retry: names.append(name),
    )
    return names


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Return ``wait_until(condition, what=…)``: polls, and fails with ``what`` when late."""

    def wait(condition: Callable[[], Any], *, what: str, timeout_seconds: float = 20.0) -> None:
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.05)
        pytest.fail(f"{what} did not happen within {timeout_seconds} s")

    return wait


@pytest.fixture
def step_spec(tmp_path: Path, home: Home) -> dict[str, Any]:
    """The job file of a small ParallelRunStep job, with code and input on the disk."""
    code, data = tmp_path / "code", tmp_path / "data"
    for folder in (code, data):
        folder.mkdir()
    (code / "score.py").write_text("def run(mini_batch):\n    return list(mini_batch)\n")
    for number in range(3):
        (data / f"{number}.txt").write_text(str(number))
    return {
        "kind": "parallel_run_step",
        "name": "count-lines",
        "inputs": [{"name": "texts", "type": "files", "path": str(data)}],
        "source_directory": str(code),
        "entry_script": "score.py",
        "output_action": "append_row",
    }
