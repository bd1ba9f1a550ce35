"""Jobs that must fail: with the cause, who decided, and what to do next."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.acceptance.live_system import LiveSystem, lines_of, wait_for
from tests.acceptance.step_jobs import ECHO_NAMES, MakeStep

ODD_FILES_FAIL = """
    from pathlib import Path

    def run(mini_batch):
        for path in mini_batch:
            if int(Path(path).stem[1:]) % 2:
                raise ValueError(f"{Path(path).name} is odd")
        return list(mini_batch)
"""


def test_more_failed_items_than_error_threshold_end_the_job(
    system: LiveSystem, make_step: MakeStep
):
    job_file = make_step(ODD_FILES_FAIL, mini_batch_size=1, error_threshold=3, run_max_try=1)

    job = system.run(job_file)

    assert_failed(job, "error_threshold")
    assert job["failed_items"] >= 4
    assert "error_threshold is 3" in job["reason"]
    assert "ValueError" in job["reason"] and "score.py:" in job["reason"]
    result = system.log_text(job["id"], "job_result.txt")
    assert result.startswith("Status: Failed\n")
    assert "\nCause: error_threshold" in result
    assert "\nWhat to do next: " in result


def test_as_many_failed_items_as_error_threshold_are_allowed(
    system: LiveSystem, make_step: MakeStep
):
    job = system.run(
        make_step(ODD_FILES_FAIL, mini_batch_size=1, error_threshold=10, run_max_try=1)
    )

    assert (job["state"], job["failed_items"]) == ("SUCCEEDED", 10)
    assert len(Path(job["output"]).read_text().splitlines()) == 10


def test_more_failed_mini_batches_than_their_threshold_end_the_job(
    system: LiveSystem, make_step: MakeStep
):
    job = system.run(
        make_step(
            ODD_FILES_FAIL, mini_batch_size=1, mini_batch_error_threshold=2, run_max_try=1
        )
    )

    assert_failed(job, "mini_batch_error_threshold")


def test_a_job_without_a_single_result_fails(system: LiveSystem, make_step: MakeStep):
    job = system.run(make_step("def run(mini_batch):\n    return []\n"))

    assert_failed(job, "nothing_succeeded")
    assert "0 results for 20 items" in job["reason"]
    assert job["progress"]["partial"] == job["mini_batches"] == 10


def test_a_result_of_the_wrong_type_is_named_with_what_to_return(
    system: LiveSystem, make_step: MakeStep
):
    swallows = """
        def run(mini_batch):
            try:
                return [open("/nonexistent/model.bin").read()]
            except OSError as error:
                print(f"swallowed: {error}")
    """

    job = system.run(make_step(swallows))

    assert_failed(job, "nothing_succeeded")
    group = job["top_errors"][0]
    assert (group["count"], group["mini_batches"]) == (30, 10)
    assert "run() returned NoneType" in job["reason"]
    assert "2 items" in group["traceback"] and "list, tuple, DataFrame" in group["traceback"]
    detail = system.get(f"/jobs/{job['id']}/mini-batches/0")
    assert [one["status"] for one in detail["try_list"]] == ["WRONG_RETURN_TYPE"] * 3
    for one in detail["try_list"]:  # what each of those calls printed
        assert lines_of(system, job["id"], one) == [
            "swallowed: [Errno 2] No such file or directory: '/nonexistent/model.bin'"
        ]


def test_a_missing_module_is_shown_with_file_line_mini_batch_and_process(
    system: LiveSystem, make_step: MakeStep
):
    script = "def run(mini_batch):\n    import not_there\n"

    answer = system.prs("submit", make_step(script), "--wait", "--json")

    assert answer.status == 1
    job = answer.json
    assert_failed(job, "nothing_succeeded")
    group = job["top_errors"][0]
    assert (group["place"], group["count"], group["mini_batches"]) == ("score.py:2", 30, 10)
    assert group["title"] == "ModuleNotFoundError: No module named 'not_there'"
    shown = system.prs("show", job["id"]).output
    result = system.log_text(job["id"], "job_result.txt")
    for text in (shown, result):
        assert "ModuleNotFoundError" in text and "score.py:2" in text
        assert "exit code" not in text.lower()
    first = next(line for line in result.splitlines() if line.startswith("First error: "))
    for word in ("mini-batch ", "try 1 of 3", "process00", " on n"):
        assert word in first
    look_at = next(line for line in result.splitlines() if line.startswith("Look at: "))
    assert (system.folder(job["id"]).root / look_at.removeprefix("Look at: ")).stat().st_size
    assert result.splitlines()[1] in shown or job["reason"] in shown


def test_an_init_that_always_fails_ends_the_job(system: LiveSystem, make_step: MakeStep):
    script = """
        def init():
            raise RuntimeError("no model here")

        def run(mini_batch):
            return list(mini_batch)
    """

    job = system.run(make_step(script, process_count_per_node=1))

    assert_failed(job, "init_failed")
    assert "RuntimeError at score.py:3" in job["reason"]
    result = system.log_text(job["id"], "job_result.txt")
    assert "\nFirst error: RuntimeError: no model here; init(), " in result
    assert job["top_errors"][0]["place"] == "score.py:3"
    assert job["progress"]["not_run"] == 10


def test_a_script_without_run_fails_at_once_and_was_warned_of(
    system: LiveSystem, make_step: MakeStep
):
    job = system.run(make_step("def score(mini_batch):\n    return []\n"))

    assert_failed(job, "entry_script_invalid")
    assert "score.py" in job["reason"] and "run" in job["reason"]
    assert any("run" in warning for warning in job["warnings"])


def test_a_script_with_a_syntax_error_fails_at_once(system: LiveSystem, make_step: MakeStep):
    job = system.run(make_step("def run(mini_batch:\n    return []\n"))

    assert_failed(job, "entry_script_invalid")
    assert "SyntaxError" in job["reason"]


def test_tables_without_rows_are_no_input(system: LiveSystem, make_step: MakeStep):
    job_file = make_step(ECHO_NAMES, mini_batch_size="1KB", inputs=[_table("empty.csv")])
    (job_file.parent / "empty.csv").write_text("name,count\n")

    job = system.run(job_file)

    assert_failed(job, "no_input")
    assert "empty.csv" in job["reason"]


def test_input_that_is_gone_when_the_job_starts_is_no_input(
    system: LiveSystem, make_step: MakeStep
):
    holder = system.submit(
        make_step("import time\ndef run(mini_batch):\n    time.sleep(600)\n", node_count=3)
    )
    job_file = make_step(ECHO_NAMES, files=2)
    waiting = system.submit(job_file)
    wait_for(lambda: system.job(waiting)["state"] == "RUNNABLE", "a job that waits for nodes")
    for path in (job_file.parent / "data").iterdir():
        path.unlink()

    system.prs_json("cancel", holder)

    job = system.ended(waiting)
    assert_failed(job, "no_input")
    assert str(job_file.parent / "data") in job["reason"]


def test_a_missing_entry_script_is_refused_with_a_near_name(
    system: LiveSystem, make_step: MakeStep
):
    job_file = make_step(ECHO_NAMES, entry_script="scor.py")

    answer = system.prs("submit", job_file, "--json")

    assert answer.status == 2
    error = answer.json["error"]
    assert error["code"] == "invalid"
    assert [problem["path"] for problem in error["problems"]] == ["entry_script"]
    assert "score.py" in error["problems"][0]["rule"]
    assert system.get("/jobs", q="scor.py")["items"] == []


def test_a_job_that_waits_says_for_what(system: LiveSystem, make_step: MakeStep):
    holder = system.submit(
        make_step("import time\ndef run(mini_batch):\n    time.sleep(600)\n", node_count=3)
    )
    try:
        wait_for(lambda: system.job(holder)["state"] == "RUNNING", "a job that holds all nodes")
        waiting = system.submit(make_step(ECHO_NAMES))

        def reason_to_wait() -> str:
            job = system.job(waiting)
            return job["reason"] if "2 nodes" in (job["reason"] or "") else ""

        reason = wait_for(reason_to_wait, "a reason with numbers", seconds=20)

        assert "0 are free" in reason
        assert "held by job small (3 nodes)" in reason
    finally:
        system.prs_json("cancel", holder)
    assert system.ended(waiting)["state"] == "SUCCEEDED"


def assert_failed(job: dict[str, Any], cause: str) -> None:
    assert job["state"] == "FAILED", job["reason"]
    assert job["cause"].split(" / ")[0] == cause, (job["cause"], job["reason"])
    assert job["decided_by"]
    assert job["reason"]
    assert job["output"] is None
    assert job["headline"]["text"].startswith("Failed")
    assert job["headline"]["decided_by"]
    assert job["ended_at"] <= time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime())


def _table(path: str) -> dict[str, Any]:
    return {"name": "rows", "type": "table", "path": path, "table": {"format": "csv"}}
