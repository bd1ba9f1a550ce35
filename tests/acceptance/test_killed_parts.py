"""``kill -9`` of each part in the middle of a job: the output is that of a quiet run."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.acceptance.conftest import DIGITS
from tests.acceptance.live_system import LiveSystem, wait_for
from tests.acceptance.processes_of_home import part, processes_of, worker_processes
from tests.acceptance.step_jobs import MakeStep

SLOW = "--pause_seconds 0.2"  # some five seconds for all digits


def test_kills_of_a_worker_process_a_node_and_the_orchestrator_leave_the_output_identical(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 8)

    worker = worker_processes(own_system.home.root, job_id)[0]
    worker.kill()
    wait_for(lambda: _numbers(own_system, job_id) >= 5, "a process in the place of the killed")
    kill_part(own_system, "node", "n2")
    own_system.wait_until_done(job_id, 40)
    kill_part(own_system, "orchestrator")

    assert_same_output(own_system, job_id, digits)
    assert "Master role taken over by " in own_system.overview(job_id)
    assert "Node n2 lost, " in own_system.overview(job_id)


def test_a_killed_worker_process_costs_a_try_and_no_row(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 8)

    victim = worker_processes(own_system.home.root, job_id, "n1")[0]
    victim.kill()

    job = assert_same_output(own_system, job_id, digits)
    assert job["repeated_tries"] <= 1  # none if it was killed between two mini-batches
    assert job["top_errors"] == [] or "SIGKILL" in job["top_errors"][0]["title"]


def test_a_process_killed_in_init_costs_no_try(own_system: LiveSystem, make_step: MakeStep):
    script = """
        import time
        from pathlib import Path

        def init():
            time.sleep(1)

        def run(mini_batch):
            return [Path(path).name for path in mini_batch]
    """
    job_id = own_system.submit(make_step(script))
    victims = wait_for(
        lambda: worker_processes(own_system.home.root, job_id, "n1"), "a process in init()"
    )

    victims[0].kill()

    job = own_system.ended(job_id)
    assert job["state"] == "SUCCEEDED", job["reason"]
    assert (job["succeeded_items"], job["repeated_tries"]) == (20, 0)


def test_a_killed_node_is_replaced_and_the_job_goes_on(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 8)

    orphans = worker_processes(own_system.home.root, job_id, "n1")

    kill_part(own_system, "node", "n1")

    wait_for(
        lambda: not any(process.is_running() for process in orphans),
        "the end of the processes of a killed node",
        seconds=20,
    )
    assert_same_output(own_system, job_id, digits)
    assert "Node n1 lost, " in own_system.overview(job_id)


def test_a_killed_orchestrator_is_replaced_and_the_job_goes_on(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 8)

    kill_part(own_system, "orchestrator")

    assert_same_output(own_system, job_id, digits)
    assert (own_system.folder(job_id).logs / "sys" / "master_role.1.txt").exists()


def test_a_killed_web_server_comes_back_and_the_job_has_not_noticed(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments=SLOW)
    own_system.wait_until_done(job_id, 4)

    killed = part(own_system.up_pid, "web")
    killed.kill()
    wait_for(lambda: _answers(own_system), "an answer of the web server started again")

    assert_same_output(own_system, job_id, digits)
    assert "web" in own_system.up_log.read_text()


def test_a_node_that_goes_with_all_its_processes_takes_only_what_it_held(
    own_system: LiveSystem, make_step: MakeStep
):
    slow = """
        import time
        from pathlib import Path

        def run(mini_batch):
            time.sleep(0.15)
            return [Path(path).name for path in mini_batch]
    """
    job_id = own_system.submit(make_step(slow, files=100, mini_batch_size=1))
    own_system.wait_until_done(job_id, 20)

    node = part(own_system.up_pid, "node", "n2")
    for process in [node, *worker_processes(own_system.home.root, job_id, "n2")]:
        process.kill()

    job = own_system.ended(job_id)
    assert job["state"] == "SUCCEEDED", job["reason"]
    rows = Path(job["output"]).read_text().splitlines()
    assert rows == [f"f{number:02d}.txt" for number in range(100)]
    assert job["repeated_tries"] <= 2  # what its two processes had begun
    assert "Node n2 lost, " in own_system.overview(job_id)
    events = own_system.pages(f"/jobs/{job_id}/events")
    (loss,) = [event["reason"] for event in events if event["kind"] == "node_lost"]
    assert loss.startswith("Node n2 lost, ")


def test_a_node_that_comes_back_after_it_was_given_up_doubles_nothing(
    own_system: LiveSystem, digits: dict[str, Any]
):
    job_id = own_system.submit(DIGITS, arguments="--pause_seconds 0.7")
    own_system.wait_until_done(job_id, 4)

    stopped = part(own_system.up_pid, "node", "n2")
    group = [stopped, *worker_processes(own_system.home.root, job_id, "n2")]
    for process in group:
        process.suspend()
    wait_for(
        lambda: "Node n2 lost, " in own_system.overview(job_id), "the loss of n2", seconds=40
    )
    for process in group:
        _resume(process)

    assert_same_output(own_system, job_id, digits)


def test_a_job_that_was_accepted_is_there_after_everything_was_killed_at_once(
    make_step: MakeStep, tmp_path: Path
):
    home = tmp_path / "home"
    script = """
        from pathlib import Path

        def run(mini_batch):
            return [Path(path).name for path in mini_batch]
    """
    with LiveSystem(home, nodes=1) as first:
        job_id = first.submit(make_step(script, node_count=1))
        os.kill(first.up_pid, signal.SIGKILL)
        first.wait_for_end()
        wait_for(lambda: not processes_of(home), "the end of all that a killed up had started")

        with LiveSystem(home, nodes=1) as second:
            job = second.ended(job_id)

    assert job["state"] == "SUCCEEDED"
    assert len(Path(job["output"]).read_text().splitlines()) == 20


def kill_part(system: LiveSystem, kind: str, node: str | None = None) -> None:
    """Kill a part as ``kill -9`` does, and wait until it was started again."""
    killed = part(system.up_pid, kind, node)
    killed.kill()

    def is_replaced() -> bool:
        try:
            return part(system.up_pid, kind, node).pid != killed.pid
        except (LookupError, psutil.Error):
            return False

    wait_for(is_replaced, f"a new {kind} {node or ''}")


def assert_same_output(
    system: LiveSystem, job_id: str, undisturbed: dict[str, Any]
) -> dict[str, Any]:
    job = system.ended(job_id)
    if job["state"] != "SUCCEEDED":
        system.show_what_happened(job_id)
    assert job["state"] == "SUCCEEDED", job["reason"]
    assert (job["succeeded_items"], job["failed_items"]) == (1797, 0)
    assert job["progress"]["succeeded"] == job["mini_batches"] == 90
    assert Path(job["output"]).read_bytes() == Path(undisturbed["output"]).read_bytes()
    return job


def _numbers(system: LiveSystem, job_id: str) -> int:
    return len(list(system.pages(f"/jobs/{job_id}/processes")))


def _answers(system: LiveSystem) -> bool:
    try:
        return httpx.get(f"{system.url}/healthz").json() == {"ok": True}
    except (httpx.HTTPError, json.JSONDecodeError):
        return False


def _resume(process: psutil.Process) -> None:
    try:
        process.resume()
    except psutil.NoSuchProcess:
        return  # ended from outside, as it should be
