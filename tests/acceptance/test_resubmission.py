"""A new job from an old one, with changes."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.live_system import LiveSystem
from tests.acceptance.step_jobs import ECHO_NAMES, MakeStep

ONE_ITEM_ONLY = """
    def run(mini_batch):
        (path,) = mini_batch
        return [path]
"""


def test_a_resubmission_is_a_new_job_that_knows_its_origin_and_its_changes(
    system: LiveSystem, make_step: MakeStep
):
    first = system.run(make_step(ECHO_NAMES))

    answer = system.prs(
        "resubmit", first["id"], "--set", "mini_batch_size=5", "--wait", "--json"
    )

    assert answer.status == 0
    second = answer.json
    assert second["id"] != first["id"]
    assert second["resubmitted_from"] == first["id"]
    assert (first["mini_batches"], second["mini_batches"]) == (10, 4)
    changes = {one["path"]: (one["old"], one["new"]) for one in second["changes"]}
    assert changes == {"mini_batch_size": (2, 5)}
    assert Path(second["output"]).read_bytes() == Path(first["output"]).read_bytes()
    assert system.job(first["id"]) == first  # untouched


def test_a_resubmission_of_a_resubmission_keeps_what_was_changed(
    system: LiveSystem, make_step: MakeStep
):
    first = system.run(make_step(ECHO_NAMES, node_count=1))
    second = system.prs_json("resubmit", first["id"], "--set", "mini_batch_size=4")
    system.ended(second["id"])

    third = system.prs_json("resubmit", second["id"], "--set", "node_count=2")

    ended = system.ended(third["id"])
    assert ended["resubmitted_from"] == second["id"]
    assert (ended["spec"]["mini_batch_size"], ended["spec"]["node_count"]) == (4, 2)
    assert ended["mini_batches"] == 5
    assert len(ended["nodes"]) == 2


def test_node_counts_that_cannot_be_are_refused_with_the_limits(
    system: LiveSystem, make_step: MakeStep
):
    first = system.run(make_step(ECHO_NAMES, node_count=1))
    count_before = len(list(system.pages("/jobs")))

    zero = system.prs("resubmit", first["id"], "--set", "node_count=0", "--json")
    many = system.prs("resubmit", first["id"], "--set", "node_count=99", "--json")

    for answer in (zero, many):
        assert answer.status == 2
        (problem,) = answer.json["error"]["problems"]
        assert problem["path"] == "node_count"
    assert "at least 1" in zero.json["error"]["problems"][0]["rule"]
    problem = many.json["error"]["problems"][0]
    assert "3" in problem["rule"] and "99" in problem["rule"] + problem["found"]
    assert len(list(system.pages("/jobs"))) == count_before


def test_a_script_for_one_item_fails_when_two_come(system: LiveSystem, make_step: MakeStep):
    one = system.run(make_step(ONE_ITEM_ONLY, mini_batch_size=1))
    two = system.ended(
        system.prs_json("resubmit", one["id"], "--set", "mini_batch_size=2")["id"]
    )

    assert (one["state"], two["state"]) == ("SUCCEEDED", "FAILED")
    assert two["top_errors"][0]["title"].startswith("ValueError: too many values to unpack")
    assert two["top_errors"][0]["place"] == "score.py:3"
    assert "score.py" in two["top_errors"][0]["traceback"]


def test_an_order_that_is_repeated_with_its_key_makes_one_job(
    system: LiveSystem, make_step: MakeStep
):
    first = system.run(make_step(ECHO_NAMES, files=2, node_count=1))
    order = {"json": {"set": {"run_max_try": 5}}, "headers": {"Idempotency-Key": "once"}}

    answers = [system.call("POST", f"/jobs/{first['id']}/resubmit", **order) for _ in range(2)]

    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    again = system.call("POST", f"/jobs/{first['id']}/resubmit", json=order["json"])
    assert again.json()["id"] != answers[0].json()["id"]


def test_a_submission_that_is_repeated_with_its_key_makes_one_job(
    system: LiveSystem, make_step: MakeStep
):
    job_file = make_step(ECHO_NAMES, files=2, node_count=1)
    spec = system.prs_json("submit", job_file, "--dry-run")["spec"]
    order = {"json": {"spec": spec}, "headers": {"Idempotency-Key": "submitted once"}}

    answers = [system.call("POST", "/jobs", **order) for _ in range(2)]

    assert [one.status_code for one in answers] == [201, 201], answers[0].text
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert system.ended(answers[0].json()["id"])["state"] == "SUCCEEDED"
