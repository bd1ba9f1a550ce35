"""A job is led by one master at a time, whatever is delivered or comes back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from celery import Celery

from runner.celery import app
from runner.core.redis_url import broker_url
from runner.core.task_names import MASTER_ROLE_TASK, ORCHESTRATOR_QUEUE
from tests.acceptance.conftest import DIGITS
from tests.acceptance.live_system import CHECKOUT, STOP_SECONDS, LiveSystem, wait_for
from tests.acceptance.processes_of_home import part
from tests.acceptance.test_killed_parts import SLOW, assert_same_output


def test_a_job_is_led_once_though_its_master_role_is_delivered_three_times(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 8)

    # as Redis does when nobody acknowledges in time
    for _ in range(2):
        send_master_role(own_system, last_job_led(own_system))

    assert_same_output(own_system, job_id, digits)
    overview = own_system.overview(job_id)
    assert overview.count("Master role on ") == 2  # started, ended
    assert "taken over" not in overview


def test_a_master_that_was_asleep_changes_nothing_when_another_has_taken_over(
    own_system: LiveSystem, digits: dict[str, Any], tmp_path: Path
):
    job_id = own_system.submit(DIGITS, arguments="--pause_seconds 0.7")
    own_system.wait_until_done(job_id, 4)
    first = part(own_system.up_pid, "orchestrator")

    with second_orchestrator(own_system, tmp_path / "second.log"):
        first.suspend()
        try:
            wait_for(
                lambda: "Master role taken over by " in own_system.overview(job_id),
                "a second master",
                seconds=40,
            )
        finally:
            first.resume()
        assert_same_output(own_system, job_id, digits)

    events = [
        event["to_state"]
        for event in own_system.pages(f"/jobs/{job_id}/events")
        if event["kind"] == "state"
    ]
    assert events == ["SUCCEEDED", "RUNNING", "STARTING", "RUNNABLE", "SUBMITTED"]


def last_job_led(system: LiveSystem) -> int:
    """The number of the job that the orchestrator leads, as its tasks name it."""
    log = (system.home.logs / "orchestrator.log").read_text()
    return int(re.findall(r"job (\d+): led here", log)[-1])


def send_master_role(system: LiveSystem, job_number: int) -> None:
    url = part(system.up_pid, "orchestrator").environ()["PRSWEB_REDIS_URL"]
    sender = Celery(broker=broker_url(url))
    sender.conf.broker_transport_options = app.conf.broker_transport_options
    with sender.connection_for_write() as connection:
        sender.send_task(
            MASTER_ROLE_TASK,
            args=[job_number],
            queue=ORCHESTRATOR_QUEUE,
            connection=connection,
        )


@contextmanager
def second_orchestrator(system: LiveSystem, log_path: Path) -> Iterator[None]:
    """One more orchestrator of the system, as on a second machine."""
    first = part(system.up_pid, "orchestrator")
    with log_path.open("wb") as log:
        second = subprocess.Popen(
            first.cmdline(), env=first.environ(), cwd=CHECKOUT, stdout=log, stderr=log
        )
    try:
        wait_for(
            lambda: "Connected to " in log_path.read_text(), "a second orchestrator", seconds=20
        )
        yield
    finally:
        second.terminate()
        try:
            second.wait(STOP_SECONDS)
        finally:
            second.kill()
