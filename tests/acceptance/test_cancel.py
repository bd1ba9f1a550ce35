"""Cancelling a job that runs."""

from __future__ import annotations

from tests.acceptance.live_system import LiveSystem, wait_for
from tests.acceptance.processes_of_home import processes_of_job
from tests.acceptance.step_jobs import MakeStep

WITH_CHILDREN = """
    import subprocess
    import time
    from pathlib import Path

    def init():
        subprocess.Popen(["sleep", "600"])
        subprocess.Popen(["sleep", "601"], start_new_session=True)

    def run(mini_batch):
        time.sleep(0.2)
        return [Path(path).name for path in mini_batch]
"""


def test_a_cancelled_job_keeps_its_counts_and_leaves_no_process_and_no_output(
    system: LiveSystem, make_step: MakeStep
):
    job_id = system.submit(make_step(WITH_CHILDREN, files=98, mini_batch_size=1))
    system.wait_until_done(job_id, 5)

    ordered = system.prs_json("cancel", job_id, "--reason", "wrong input")

    assert ordered["cancelling"] or ordered["state"] == "CANCELLED"
    job = system.ended(job_id)
    assert job["state"] == "CANCELLED"
    assert job["cancel_reason"] == "wrong input"
    assert "wrong input" in job["reason"] and "admin" in job["reason"]
    assert "admin" in job["headline"]["text"]
    assert job["output"] is None
    assert list(system.folder(job_id).output.iterdir()) == []
    progress = job["progress"]
    assert progress["succeeded"] >= 5
    assert progress["succeeded"] + progress["not_run"] == job["mini_batches"] == 98
    assert job["succeeded_items"] == progress["succeeded"]
    wait_for(
        lambda: not processes_of_job(system.home.root, job_id),
        "the end of every process of the job, its children's too",
        seconds=20,
    )
    result = system.log_text(job_id, "job_result.txt")
    assert result.startswith("Status: Canceled\n")
    assert "wrong input" in result


def test_a_job_that_waits_is_cancelled_at_once(system: LiveSystem, make_step: MakeStep):
    sleeps = "import time\ndef run(mini_batch):\n    time.sleep(600)\n"
    holder = system.submit(make_step(sleeps, node_count=3))
    waiting = system.submit(make_step(sleeps))
    try:
        wait_for(
            lambda: system.job(waiting)["state"] == "RUNNABLE", "a job that waits for nodes"
        )

        system.prs_json("cancel", waiting)

        job = system.ended(waiting)
        assert job["state"] == "CANCELLED"
        assert job["started_at"] is None
        assert job["cancel_reason"] == "cancelled from the command line"
    finally:
        system.prs_json("cancel", holder)
    assert system.ended(holder)["state"] == "CANCELLED"


def test_an_ended_job_cannot_be_cancelled(system: LiveSystem, faulty: dict[str, object]):
    answer = system.prs("cancel", str(faulty["id"]), "--json")

    assert answer.status == 2
    assert answer.json["error"]["code"] == "conflict"
    assert system.job(str(faulty["id"]))["state"] == "SUCCEEDED"
