"""The faulty example: it succeeds, and says in every place what is missing and why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.acceptance.live_system import LiveSystem

RESULT = """\
Status: Completed
Reason: all 30 mini-batches were processed, 9 of them failed, 0 partial
Decided by: master role on [^ ]+ at TIME
What to do next: look at the error groups, then ./prs resubmit [0-9a-f]{8}
First error: [A-Za-z]+Error: .+; mini-batch [0-9]+, try [12] of 2, process00[0-9] on n[1-3]
Look at: logs/user/error/n[1-3]/process00[0-9].txt
Mini-batches: total 30, succeeded 21, partial 0, failed 9, not run 0
Items: total 60, succeeded 42, failed 18, not run 0
Tries: 39 \\(9 repeated\\)
Output: output/parallel_run_step.txt, 42 rows, [0-9]+ bytes, sha256 [0-9a-f]{64}
Duration: 0:0[0-9]:[0-9]{2} \\(listing 0:00:0[0-9]\\)
""".replace("TIME", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

TITLES = {
    "ValueError": ("average_depth.py:46", 8, 4),
    "KeyError": ("average_depth.py:50", 6, 3),
    "ZeroDivisionError": ("average_depth.py:29", 4, 2),
}


def test_a_job_within_its_thresholds_succeeds_and_counts_what_failed(faulty: dict[str, Any]):
    assert faulty["state"] == "SUCCEEDED"
    assert faulty["cause"] is None
    assert (faulty["items"], faulty["succeeded_items"], faulty["failed_items"]) == (60, 42, 18)
    assert (faulty["progress"]["succeeded"], faulty["progress"]["failed"]) == (21, 9)
    assert faulty["repeated_tries"] == 9
    assert faulty["metrics"]["Failed Items"] == 18
    assert faulty["headline"]["case"] == "succeeded_with_failures"
    assert "18 of 60 items failed in 9 mini-batches" in faulty["headline"]["text"]


def test_errors_are_grouped_by_cause_the_largest_group_first(
    system: LiveSystem, faulty: dict[str, Any]
):
    groups = system.prs_json("errors", faulty["id"])["items"]

    found = {
        group["title"].partition(":")[0]: (
            group["place"],
            group["count"],
            group["mini_batches"],
        )
        for group in groups
    }
    assert found == TITLES
    assert [group["count"] for group in groups] == [8, 6, 4]
    assert all("Traceback (most recent call last):" in group["traceback"] for group in groups)
    assert [one["fingerprint"] for one in faulty["top_errors"]] == [
        one["fingerprint"] for one in groups
    ]


def test_the_result_file_has_exactly_its_form(system: LiveSystem, faulty: dict[str, Any]):
    text = system.log_text(faulty["id"], "job_result.txt")

    assert re.fullmatch(RESULT, text), text


def test_every_failed_mini_batch_leads_to_its_tries_and_tracebacks(
    system: LiveSystem, faulty: dict[str, Any]
):
    failed = list(system.pages(f"/jobs/{faulty['id']}/mini-batches", state="failed"))

    assert [one["index"] for one in failed] == [2, 4, 8, 10, 12, 16, 20, 23, 25]
    detail = system.get(f"/jobs/{faulty['id']}/mini-batches/{failed[0]['index']}")
    assert [Path(name).name for name in detail["item_names"]] == ["lake-05.txt", "lake-06.txt"]
    assert sorted(one["number"] for one in detail["try_list"]) == [1, 2]
    assert {one["status"] for one in detail["try_list"]} == {"RUN_EXCEPTION"}
    for one in detail["try_list"]:
        log = system.log_text(faulty["id"], f"user/error/{one['node']}/{one['process']}.txt")
        assert "mini-batch 2" in log and "is not a depth" in log


def test_the_summary_of_errors_has_each_group_with_its_traceback(
    system: LiveSystem, faulty: dict[str, Any]
):
    summary = system.log_text(faulty["id"], "user/error.txt")

    for name, (place, tries, mini_batches) in TITLES.items():
        assert re.search(rf"{name}: .* at {place}\n +{tries} tries of {mini_batches} ", summary)
    assert summary.count("Traceback (most recent call last):") == 3
    assert list(system.folder(faulty["id"]).logs.glob("job_error.*.txt"))


def test_show_tells_the_story_without_a_bare_exit_code(
    system: LiveSystem, faulty: dict[str, Any]
):
    shown = system.prs("show", faulty["id"])

    assert shown.status == 0
    assert faulty["headline"]["text"] in shown.output
    assert "average_depth.py:46" in shown.output
    assert "exit code" not in shown.output.lower()
