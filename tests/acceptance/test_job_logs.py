"""The log tree of a job: every file is there, has content, and has its exact form."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.live_system import LiveSystem, lines_of
from tests.acceptance.step_jobs import MakeStep

SYSTEM_LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\|INFO\|PID\|\d+\|"
PICKED = re.compile(
    SYSTEM_LINE + r"picked mini-batch (\d+) try 1 of 3: (\d+) items, (\S+) … (\S+)"
)
DONE = re.compile(
    SYSTEM_LINE + r"done mini-batch (\d+) try 1: address 127\.0\.1\.\d pid PID total (\d+) "
    r"succeeded (\d+) failed 0 start \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} "
    r"duration \d+\.\d{3} process \d+\.\d{3} run \d+\.\d{3} status RUN_DONE"
)
OVERVIEW_LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} \S.*")
TRY_COLUMNS = (
    "Mini-batch Id,Picked Count,Process,Process Start Time,Total,Succeeded,Failed,"
    "Elapsed Seconds,Process Seconds,Run Method Seconds,Status,Error Category,Error Message,"
    "Mini-batch Detail"
)
PROCESS_COLUMNS = (
    "Node,Process,Pid,Start Time,End Time,End,Picked,Succeeded,Partial,Failed,Items,"
    "Items Succeeded,Items Failed,Process Seconds,Run Method Seconds"
)
NODE_COLUMNS = PROCESS_COLUMNS.replace("Process,Pid,", "Processes,", 1)
PROGRESS_COLUMNS = (
    "Datetime,Total Tasks,Scheduled Tasks,Completed Tasks,Failed Tasks,Elapsed Time,"
    "Estimated Remaining Time"
)
MUST_HAVE_CONTENT = (
    "job_progress_overview.??????????.txt",
    "job_result.txt",
    "readme.txt",
    "azureml/70_driver_log.txt",
    "sys/master_role.txt",
    "sys/node/*/process000.txt",
    "sys/node/*/process001.txt",
    "sys/job_report/processed_mini-batches.csv",
    "sys/job_report/process_summary.csv",
    "sys/job_report/node_summary.csv",
    "sys/metrics/??????????/progress.csv",
    "user/stdout/*/process000.stdout.txt",
    "user/entry_script_log/*/process000.log.txt",
    "perf/*/node_resource_usage.csv",
    "perf/*/node_disk_usage.csv",
    "perf/*/processes_resource_usage.csv",
    "perf/*/os/??????????/processes_??",
)
MUST_EXIST = (
    "sys/node/*/process000.stdout.txt",
    "sys/node/*/process000.stderr.txt",
    "user/stderr/*/process000.stderr.txt",
)


@pytest.mark.parametrize("pattern", MUST_HAVE_CONTENT)
def test_a_log_of_the_tree_has_content_on_each_node(
    system: LiveSystem, digits: dict[str, Any], pattern: str
):
    logs = system.folder(digits["id"]).logs

    found = sorted(logs.glob(pattern))

    per_node = 2 if "/*/" in pattern else 1
    assert len(found) >= per_node, f"{pattern}: {found}"
    assert all(path.stat().st_size > 0 for path in found), found


def test_logs_without_content_are_there_too(system: LiveSystem, digits: dict[str, Any]):
    logs = system.folder(digits["id"]).logs

    for pattern in MUST_EXIST:
        assert len(list(logs.glob(pattern))) == 2, pattern
    newest = logs / "job_progress_overview.txt"
    assert newest.is_symlink()
    assert newest.resolve() == max(logs.glob("job_progress_overview.[0-9]*.txt"))


def test_the_list_of_logs_names_every_file(system: LiveSystem, digits: dict[str, Any]):
    logs = system.folder(digits["id"]).logs

    listed = {one["path"]: one for one in system.prs_json("logs", digits["id"])["items"]}

    on_disk = {
        str(path.relative_to(logs))
        for path in logs.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    assert on_disk <= set(listed)
    for path in on_disk:
        assert listed[path]["bytes"] == (logs / path).stat().st_size
        assert listed[path]["live"] is False


def test_lines_of_a_process_file_have_their_exact_form(
    system: LiveSystem, digits: dict[str, Any]
):
    picked: list[int] = []
    done: list[int] = []
    for path in system.folder(digits["id"]).logs.glob("sys/node/*/process[0-9][0-9][0-9].txt"):
        lines = path.read_text().splitlines()
        pid = lines[0].split("|")[2]
        head = "\n".join(lines[:8])
        for word in ("address 127.0.1.", f"pid {pid}", "interpreter ", "working directory ",
                     "sys.path ", "argv "):  # fmt: skip
            assert word in head, head
        for line in lines:
            if "picked mini-batch" in line:
                found = re.fullmatch(PICKED.pattern.replace("PID", pid), line)
                assert found, line
                picked.append(int(found[1]))
            elif "done mini-batch" in line:
                found = re.fullmatch(DONE.pattern.replace("PID", pid), line)
                assert found, line
                assert found[2] == found[3]
                done.append(int(found[1]))
    assert sorted(picked) == sorted(done) == list(range(90))


def test_reports_have_their_columns_and_a_row_for_each_try(
    system: LiveSystem, digits: dict[str, Any], faulty: dict[str, Any]
):
    reports = system.folder(digits["id"]).job_report
    rows = _rows(reports / "processed_mini-batches.csv", TRY_COLUMNS)
    inits = [row for row in rows if row["Status"] == "INIT_DONE"]
    tries = [row for row in rows if row["Status"] == "RUN_DONE"]

    assert len(rows) == len(inits) + len(tries)
    assert len(inits) == 4
    assert {row["Mini-batch Id"] for row in inits} == {"N/A"}
    assert sorted(int(row["Mini-batch Id"]) for row in tries) == list(range(90))
    assert sum(int(row["Total"]) for row in tries) == 1797
    assert all(int(row["Failed"]) == int(row["Total"]) - int(row["Succeeded"]) for row in tries)
    assert all(re.fullmatch(r"n[1-3]/process00\d", row["Process"]) for row in rows)
    times = {row["Process Start Time"] for row in rows}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", time) for time in times)

    failed = [
        row
        for row in _rows(
            system.folder(faulty["id"]).job_report / "processed_mini-batches.csv", TRY_COLUMNS
        )
        if row["Status"] == "RUN_EXCEPTION"
    ]
    assert len(failed) == 18
    assert all(row["Error Message"] != "N/A" for row in failed)


def test_summaries_name_every_process_and_node_and_add_up(
    system: LiveSystem, digits: dict[str, Any]
):
    reports = system.folder(digits["id"]).job_report
    processes = _rows(reports / "process_summary.csv", PROCESS_COLUMNS)
    nodes = _rows(reports / "node_summary.csv", NODE_COLUMNS)

    assert len(processes) == 4
    assert [row["Node"] for row in nodes] == digits["nodes"]
    for rows in (processes, nodes):
        assert sum(int(row["Picked"]) for row in rows) == 90
        assert sum(int(row["Items Succeeded"]) for row in rows) == 1797


def test_progress_is_written_as_lines_and_as_numbers(
    system: LiveSystem, digits: dict[str, Any]
):
    overview = system.overview(digits["id"]).splitlines()
    (numbers,) = system.folder(digits["id"]).logs.glob("sys/metrics/*/progress.csv")

    assert all(OVERVIEW_LINE.fullmatch(line) for line in overview), overview
    text = "\n".join(overview)
    assert re.search(r" Master role on \S+ started\.\n", text)
    assert re.search(r" Listing ended: 90 mini-batches with 1797 items in [\d.]+ s\.\n", text)
    assert text.count(" joined with 2 processes.\n") == 2
    assert re.search(
        r" Processed 90 of 90 mini-batches \(0 failed\), 1797 of 1797 items, "
        r"in 0:00:\d\d; remaining .*; repeated tries 0\.\n",
        text,
    )
    assert re.search(r" Output: 100 % of \d+ bytes assembled\.\n", text)
    assert re.search(r" Master role on \S+ ended\.$", text)
    last = _rows(numbers, PROGRESS_COLUMNS)[-1]
    assert (last["Total Tasks"], last["Completed Tasks"], last["Failed Tasks"]) == (
        "90", "90", "0",
    )  # fmt: skip


def test_the_driver_log_tells_the_start_and_repeats_the_result(
    system: LiveSystem, faulty: dict[str, Any]
):
    text = system.log_text(faulty["id"], "azureml/70_driver_log.txt")

    for word in ("prsweb ", "snapshot ", "nodes granted: ", "average_depth.py"):
        assert word in text
    last = text.splitlines()[-1]
    assert "Status: Completed" in last and "Reason: " in last and "First error: " in last


@pytest.mark.parametrize(("level", "shown"), [("INFO", ["i"]), ("DEBUG", ["d", "i"])])
def test_the_script_logger_writes_from_the_level_of_the_job_on(
    system: LiveSystem, make_step: MakeStep, level: str, shown: list[str]
):
    script = """
        import logging
        from azureml_user.parallel_run import EntryScript

        def init():
            for logger in (EntryScript().logger, logging.getLogger("mine")):
                logger.debug("d")
                logger.info("i")

        def run(mini_batch):
            return list(mini_batch)
    """
    job = system.run(
        make_step(script, logging_level=level, node_count=1, process_count_per_node=1)
    )

    logs = system.folder(job["id"]).logs
    (script_log,) = logs.glob("user/entry_script_log/*/process000.log.txt")
    lines = script_log.read_text().splitlines()
    assert [line.rpartition("|")[2] for line in lines] == shown
    form = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\|(INFO|DEBUG)\|\d+\|\d+\|score\.py:\d+\|[di]"
    assert all(re.fullmatch(form, line) for line in lines), lines
    (stdout,) = logs.glob("user/stdout/*/process000.stdout.txt")
    assert [line.rpartition("|")[2] for line in stdout.read_text().splitlines()] == shown
    assert job["spec"]["logging_level"] == level


def test_a_printed_word_is_found_with_node_process_and_mini_batch(
    system: LiveSystem, make_step: MakeStep
):
    script = """
        from pathlib import Path

        def run(mini_batch):
            print("quokka", Path(mini_batch[0]).name)
            return list(mini_batch)
    """
    job = system.run(make_step(script))

    hits = system.prs_json("logs", job["id"], "--search", "quokka")["items"]

    assert sorted(hit["text"] for hit in hits) == [
        f"quokka f{n:02d}.txt" for n in range(0, 20, 2)
    ]
    form = r"user/stdout/n[1-3]/process00[01]\.stdout\.txt"
    assert all(re.fullmatch(form, hit["path"]) for hit in hits)
    (one,) = system.get(f"/jobs/{job['id']}/mini-batches/7")["try_list"]
    assert lines_of(system, job["id"], one) == ["quokka f14.txt"]
    shown = system.prs("logs", job["id"]).output
    assert re.search(r"^n[1-3]/p(rocess0)?0[01] \| quokka f14\.txt$", shown, re.MULTILINE), (
        shown
    )


def test_text_goes_to_the_file_of_its_source(system: LiveSystem, make_step: MakeStep):
    script = """
        import os, subprocess, sys

        def init():
            print("printed")
            print("complained", file=sys.stderr)
            os.write(1, b"written to 1\\n")
            os.write(2, b"written to 2\\n")
            subprocess.run(["sh", "-c", "echo from a child; echo bad child >&2"], check=True)

        def run(mini_batch):
            subprocess.run(
                ["sh", "-c", "echo captured; exit 3"], capture_output=True, check=True
            )
    """
    job = system.run(
        make_step(script, files=2, node_count=1, process_count_per_node=1, run_max_try=1)
    )

    (node,) = job["nodes"]
    texts = {
        path: system.log_text(job["id"], path.format(node=node))
        for path in (
            "user/stdout/{node}/process000.stdout.txt",
            "user/stderr/{node}/process000.stderr.txt",
            "sys/node/{node}/process000.stdout.txt",
            "sys/node/{node}/process000.stderr.txt",
            "user/error/{node}/process000.txt",
        )
    }
    user_out, user_err, descriptor_1, descriptor_2, errors = texts.values()
    assert user_out == "printed\n"
    assert user_err == "complained\n"
    assert "written to 1\n" in descriptor_1 and "from a child\n" in descriptor_1
    assert "written to 2\n" in descriptor_2 and "bad child\n" in descriptor_2
    assert "CalledProcessError" in errors and "captured" in errors


def _rows(path: Path, columns: str) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        assert file.readline().rstrip("\r\n") == columns
        return list(csv.DictReader(file, fieldnames=columns.split(",")))
