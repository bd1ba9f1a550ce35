"""Scripts that end, crash or block their process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.live_system import LiveSystem
from tests.acceptance.step_jobs import MakeStep

FIRST_TRY_ONLY = """
    import ctypes, os, time
    from pathlib import Path
    from azureml_user.parallel_run import EntryScript

    def run(mini_batch):
        mark = Path(EntryScript().output_dir) / "was-tried"
        if any(path.endswith("f05.txt") for path in mini_batch) and not mark.exists():
            mark.touch()
            print("now it happens")
            ACT
        return [Path(path).name for path in mini_batch]
"""
ALL_NAMES = [f"f{number:02d}.txt" for number in range(20)]


@pytest.mark.parametrize(
    ("act", "status", "word"),
    [
        ("os._exit(3)", "PROCESS_DIED", "exit code 3"),
        ("ctypes.string_at(0)", "PROCESS_DIED", "SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "PROCESS_DIED", "SIGKILL"),
        ("time.sleep(600)", "RUN_TIMEOUT", "1 s"),
    ],
)
def test_a_process_that_dies_or_blocks_costs_one_try_and_is_replaced(
    system: LiveSystem, make_step: MakeStep, act: str, status: str, word: str
):
    script = FIRST_TRY_ONLY.replace("ACT", act)

    job = system.run(
        make_step(script, run_invocation_timeout=1, node_count=1, process_count_per_node=1)
    )

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert Path(job["output"]).read_text().splitlines() == ALL_NAMES
    assert job["repeated_tries"] == 1
    detail = system.get(f"/jobs/{job['id']}/mini-batches/2")
    first, second = sorted(detail["try_list"], key=lambda one: one["number"])
    assert (first["status"], second["status"]) == (status, "RUN_DONE")
    assert word in first["error"]
    assert (first["process"], second["process"]) == ("process000", "process001")
    stdout = system.log_text(
        job["id"], f"user/stdout/{first['node']}/{first['process']}.stdout.txt"
    )
    assert "now it happens" in stdout


def test_a_run_that_blocks_is_stopped_in_time_and_leaves_its_stacks(
    system: LiveSystem, make_step: MakeStep
):
    script = "import time\ndef run(mini_batch):\n    time.sleep(600)\n"

    job = system.run(
        make_step(script, files=2, run_invocation_timeout=1, run_max_try=1, node_count=1)
    )

    assert job["state"] == "FAILED"
    assert "run_timeout" in job["cause"]
    (one,) = system.get(f"/jobs/{job['id']}/mini-batches/0")["try_list"]
    assert one["status"] == "RUN_TIMEOUT"
    assert one["run_seconds"] >= 1
    errors = "".join(
        path.read_text() for path in system.folder(job["id"]).logs.glob("user/error/*/*.txt")
    )
    assert "score.py" in errors and "line 3" in errors


def test_a_process_that_always_dies_fails_its_mini_batch_and_no_other(
    system: LiveSystem, make_step: MakeStep
):
    script = """
        import os
        from pathlib import Path

        def run(mini_batch):
            if any(path.endswith("f05.txt") for path in mini_batch):
                os._exit(3)
            return [Path(path).name for path in mini_batch]
    """

    job = system.run(make_step(script, run_max_try=2))

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert (job["succeeded_items"], job["failed_items"]) == (18, 2)
    assert Path(job["output"]).read_text().splitlines() == [
        name for name in ALL_NAMES if name not in ("f04.txt", "f05.txt")
    ]
    (group,) = job["top_errors"]
    assert (group["count"], group["mini_batches"]) == (2, 1)
    assert "exit code 3" in group["title"]


def test_sys_exit_in_run_is_an_exception_like_any_other(
    system: LiveSystem, make_step: MakeStep
):
    script = FIRST_TRY_ONLY.replace("ACT", "raise SystemExit(0)")

    job = system.run(make_step(script, node_count=1, process_count_per_node=1))

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert Path(job["output"]).read_text().splitlines() == ALL_NAMES
    assert _statuses(system, job["id"]) == ["RUN_EXCEPTION", "RUN_DONE"]
    processes = list(system.pages(f"/jobs/{job['id']}/processes"))
    assert len(processes) == 1  # the same process went on


def test_a_process_killed_between_writing_and_reporting_doubles_no_row(
    system: LiveSystem, make_step: MakeStep
):
    # The script puts itself behind the writing of rows, where only a kill from outside
    # could come at the right moment.
    script = """
        import os, signal, sys, time
        from pathlib import Path
        from azureml_user.parallel_run import EntryScript

        def init():
            segments = next(m for n, m in sys.modules.items() if n.endswith("harness.segment"))
            write = segments.Segment.append

            def write_and_die(self, rows):
                write(self, rows)
                for number in (700, 1500, 2300, 3100, 3900):
                    mark = Path(EntryScript().output_dir) / f"died-{number}"
                    if b"\\n%d," % number in b"\\n" + rows and not mark.exists():
                        mark.touch()
                        os.kill(os.getpid(), signal.SIGKILL)

            segments.Segment.append = write_and_die

        def run(mini_batch):
            time.sleep(0.06)  # so that each mini-batch is handed over by itself
            return mini_batch
    """
    job_file = make_step(
        script,
        mini_batch_size="10KB",
        output={"format": "csv", "header": False},
        inputs=[{"name": "rows", "type": "table", "path": "rows.csv"}],
    )
    lines = [f"{number},{'x' * 50}" for number in range(5000)]
    (job_file.parent / "rows.csv").write_text("\n".join(["number,text", *lines]) + "\n")

    job = system.run(job_file)

    assert job["state"] == "SUCCEEDED", job["reason"]
    assert Path(job["output"]).read_text().splitlines() == lines
    assert job["repeated_tries"] == 5
    assert job["progress"]["succeeded"] == job["mini_batches"]
    assert "(5 repeated)" in system.log_text(job["id"], "job_result.txt")
    assert "repeated tries 5" in system.overview(job["id"])


def _statuses(system: LiveSystem, job_id: str) -> list[Any]:
    tries = system.get(f"/jobs/{job_id}/mini-batches/2")["try_list"]
    return [one["status"] for one in sorted(tries, key=lambda one: one["number"])]
