"""The numbers of a job while it runs and at its end: page, API, command line and files."""

from __future__ import annotations

import re
from typing import Any

from tests.acceptance.live_system import LiveSystem, wait_for
from tests.acceptance.step_jobs import MakeStep

STATES = ("waiting", "running", "retrying", "succeeded", "partial", "failed", "not_run")
SLOW = """
    import time

    def run(mini_batch):
        time.sleep(0.2)
        return list(mini_batch)
"""


def test_numbers_of_a_running_job_add_up_and_reach_a_hundred_percent(
    system: LiveSystem, make_step: MakeStep
):
    job_id = system.submit(make_step(SLOW, files=80, mini_batch_size=2))

    seen: list[dict[str, Any]] = []

    def has_ended() -> bool:
        seen.append(system.job(job_id))
        return seen[-1]["state"] == "SUCCEEDED"

    wait_for(has_ended, "the end of the job")

    for job in seen:
        if job["mini_batches"] is not None:
            assert sum(job["progress"][state] for state in STATES) == job["mini_batches"]
    percents = [job["progress"]["done_percent"] or 0.0 for job in seen]
    assert percents == sorted(percents)
    assert percents[-1] == 100.0
    assert any(0 < percent < 100 for percent in percents)
    last = seen[-1]
    assert last["metrics"] == {
        "Total MiniBatches": 40,
        "Total Items": 80,
        "Failed Items": 0,
        "Processed MiniBatches": 40,
        "Remaining MiniBatches": 0,
        "Remaining Items": 0,
    }
    assert any(job["progress"]["remaining_seconds"] is not None for job in seen)


def test_page_command_and_files_give_the_same_numbers(
    system: LiveSystem, faulty: dict[str, Any]
):
    job_id = faulty["id"]
    shown = system.prs_json("show", job_id)
    result = system.log_text(job_id, "job_result.txt")
    overview = system.overview(job_id)
    listed = list(system.pages(f"/jobs/{job_id}/mini-batches"))

    assert shown["progress"] == faulty["progress"]
    assert len(listed) == faulty["mini_batches"] == 30
    assert sum(one["items"] for one in listed) == faulty["items"] == 60
    assert sum(one["succeeded"] for one in listed) == faulty["succeeded_items"] == 42
    assert sum(one["tries"] for one in listed) == 39
    assert "Mini-batches: total 30, succeeded 21, partial 0, failed 9, not run 0" in result
    assert "Items: total 60, succeeded 42, failed 18, not run 0" in result
    assert re.search(r"Processed 30 of 30 mini-batches \(9 failed\), 60 of 60 items", overview)
    assert "repeated tries 9." in overview


def test_the_page_of_a_job_shows_the_numbers_of_the_api(
    system: LiveSystem, faulty: dict[str, Any]
):
    page = system.signed_in().get(f"/jobs/{faulty['id']}/")

    assert page.status_code == 200
    assert faulty["headline"]["text"].partition(";")[0] in page.text
    text = re.sub(r"<[^>]*>", " ", page.text)
    for number in ("30", "42", "18"):
        assert re.search(rf"\b{number}\b", text), number


def test_resources_are_sampled_for_nodes_and_processes(system: LiveSystem, make_step: MakeStep):
    job = system.run(make_step(SLOW, files=40, mini_batch_size=1, sample_interval=1))

    samples = system.get(f"/jobs/{job['id']}/samples", metric="cpu")

    assert samples["metric"] == "cpu"
    assert {one["node"] for one in samples["series"]} == set(job["nodes"])
    assert all(len(one["at"]) == len(one["mean"]) for one in samples["series"])
    assert any(len(one["at"]) >= 2 for one in samples["series"])


def test_a_hundred_thousand_mini_batches_end_with_every_row_once(
    system: LiveSystem, make_step: MakeStep
):
    count = 100_000
    script = """
        def run(mini_batch, context):
            return [context.minibatch_index]
    """
    job_file = make_step(script, inputs=None, mini_batch_size=None, rank_mini_batch_count=count)

    job = system.run(job_file)

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert (job["mini_batches"], job["succeeded_items"]) == (count, count)
    with open(job["output"]) as rows:
        assert [int(row) for row in rows] == list(range(count))
    page = system.get(f"/jobs/{job['id']}/mini-batches", limit=1, after=None)
    assert page["items"][0]["index"] == 0 and page["next"]
