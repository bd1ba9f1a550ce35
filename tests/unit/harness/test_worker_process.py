"""A worker process as the node agent sees it: frames, records, status words, exit codes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.harness import wire
from tests.unit.harness.worker_process_driver import WorkerProcess, unpack_block

Make = Callable[..., WorkerProcess]


def _find_python_3_8() -> str | None:
    """Return an interpreter that really runs: a version manager's stand-in may not."""
    found = [shutil.which("python3.8")]
    found += map(str, Path.home().glob(".pyenv/versions/3.8.*/bin/python"))
    for path in filter(None, found):
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None


PYTHON_3_8 = _find_python_3_8()


def test_returned_lists_stand_in_the_segment_where_the_records_say(make_process: Make) -> None:
    process = make_process()
    process.write_files(["/d/s/a", "/d/s/b"], ["/d/s/c"])
    process.start()

    block = process.lease(0, 2, lease_id=7)

    assert (block.assignment, block.node_index, block.process) == (5, 1, 3)
    assert block.is_final
    assert process.segment() == b"/d/s/a\n/d/s/b\n/d/s/c\n"
    first, second = block.records
    assert first[:9] == (0, 1, wire.OUTCOME_SUCCEEDED, wire.RUN_DONE, 2, 2, 2, 0, 14)
    assert second[:9] == (1, 1, wire.OUTCOME_SUCCEEDED, wire.RUN_DONE, 1, 1, 1, 14, 7)
    assert abs(first.started_us / 1e6 - time.time()) < 60
    for record in block.records:
        assert record.load_us + record.run_us <= record.total_us
    assert process.frames[-1].lease_id == 7


def test_a_lease_may_begin_anywhere_in_the_manifest(make_process: Make) -> None:
    process = make_process()
    process.write_files(*[[f"/d/{number}"] for number in range(5)])
    process.start()

    block = process.lease(3, 2, try_number=2)

    assert [record.index for record in block.records] == [3, 4]
    assert [record.try_number for record in block.records] == [2, 2]
    assert process.segment() == b"/d/3\n/d/4\n"


def test_fewer_results_than_items_are_a_partial_success(make_process: Make) -> None:
    process = make_process("def run(mini_batch):\n    return mini_batch[:1]\n")
    process.write_files(["/a", "/b", "/c"])
    process.start()

    (record,) = process.lease(0).records

    assert record[2:7] == (wire.OUTCOME_PARTIAL, wire.RUN_DONE, 3, 1, 1)
    assert process.segment() == b"/a\n"


def test_more_results_than_items_are_written_capped_and_warned_of(make_process: Make) -> None:
    process = make_process("def run(mini_batch):\n    return mini_batch * 2\n")
    process.write_files(["/a", "/b", "/c"])
    process.start()

    (record,) = process.lease(0).records

    assert record[2:7] == (wire.OUTCOME_SUCCEEDED, wire.RUN_DONE, 3, 3, 6)
    warning = next(frame for frame in process.frames if frame.kind == wire.FRAME_WARNING)
    assert warning.json == {
        "code": "more_results_than_items",
        "text": "run() returned 6 results for 3 items (mini-batch 0)",
        "mini_batch": 0,
    }


def test_an_exception_fails_its_try_and_the_process_goes_on(make_process: Make) -> None:
    process = make_process(
        "def check(path):\n"
        "    if 'bad' in path:\n"
        "        raise ValueError('bad header in ' + path)\n"
        "def run(mini_batch):\n"
        "    for path in mini_batch:\n"
        "        check(path)\n"
        "    return mini_batch\n"
    )
    process.write_files(["/bad1", "/x"], ["/good"], ["/bad2"])
    process.start()

    block = process.lease(0, 3)

    assert [record.outcome for record in block.records] == [
        wire.OUTCOME_TRY_FAILED,
        wire.OUTCOME_SUCCEEDED,
        wire.OUTCOME_TRY_FAILED,
    ]
    assert block.records[0][3:7] == (wire.RUN_EXCEPTION, 2, 0, 0)
    assert not block.is_final
    assert process.segment() == b"/good\n"
    first, second = block.errors
    script = str(process.folder / "work" / "score.py")
    assert (first["index"], first["try"], first["kind"]) == (0, 1, "exception")
    assert first["types"] == ["ValueError"]
    assert first["message"] == "bad header in /bad1"
    assert first["frames"] == [
        [script, "score", "run", 6, "check(path)", True],
        [script, "score", "check", 3, "raise ValueError('bad header in ' + path)", True],
    ]
    assert first["traceback"].splitlines()[:2] == [
        "Traceback (most recent call last):",
        f'  File "{script}", line 6, in run',
    ]
    assert (second["index"], second["traceback"], second["frames"]) == (2, None, [])
    assert second["message"] == "bad header in /bad2"
    assert second["same_as"] == second["digest"] == first["digest"]


def test_the_same_message_from_another_line_is_told_in_full(make_process: Make) -> None:
    process = make_process(
        "def run(mini_batch):\n"
        "    if mini_batch[0] == '/a':\n"
        "        raise KeyError('x')\n"
        "    raise KeyError('x')\n"
    )
    process.write_files(["/a"], ["/b"])
    process.start()

    first, second = process.lease(0, 2).errors

    assert first["digest"] != second["digest"]
    assert second["traceback"].startswith("Traceback")


def test_causes_are_told_from_the_outermost_on(make_process: Make) -> None:
    process = make_process(
        "def run(mini_batch):\n"
        "    try:\n"
        "        {}['k']\n"
        "    except KeyError as error:\n"
        "        raise RuntimeError('no k') from error\n"
    )
    process.write_files(["/a"])
    process.start()

    (error,) = process.lease(0).errors

    assert error["types"] == ["RuntimeError", "KeyError"]
    assert "direct cause" in error["traceback"]
    assert "harness" not in error["traceback"]


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_what_would_end_a_plain_script_is_an_ordinary_exception(
    make_process: Make, name: str
) -> None:
    process = make_process(
        f"def run(mini_batch):\n    if mini_batch == ['/a']:\n        raise {name}(3)\n"
        "    return mini_batch\n"
    )
    process.write_files(["/a"], ["/b"])
    process.start()

    block = process.lease(0, 2)

    assert [record.status for record in block.records] == [wire.RUN_EXCEPTION, wire.RUN_DONE]
    assert block.errors[0]["types"] == [name]


@pytest.mark.parametrize(
    ("returned", "type_name"),
    [
        ("None", "NoneType"),
        ("'text'", "str"),
        ("b'x'", "bytes"),
        ("{}", "dict"),
        ("set()", "set"),
        ("(x for x in mini_batch)", "generator"),
        ("5", "int"),
    ],
)
def test_anything_that_is_no_list_of_results_fails_the_try(
    make_process: Make, returned: str, type_name: str
) -> None:
    process = make_process(f"def run(mini_batch):\n    print('seen')\n    return {returned}\n")
    process.write_files([f"/{number}" for number in range(10)])
    process.start()

    block = process.lease(0)

    assert block.records[0][2:7] == (wire.OUTCOME_TRY_FAILED, wire.WRONG_RETURN_TYPE, 10, 0, 0)
    (error,) = block.errors
    assert error["kind"] == "wrong_type"
    assert error["message"] == (
        f"run() returned {type_name} for mini-batch 0 (10 items); return a list, tuple, "
        "DataFrame, array or Series with one result per item"
    )
    assert error["printed"] == {"stdout": [0, 5], "stderr": [0, 0]}


def test_a_coroutine_is_no_result_and_leaves_no_warning(make_process: Make) -> None:
    process = make_process("async def run(mini_batch):\n    return mini_batch\n")
    process.write_files(["/a"])
    process.start()

    block = process.lease(0)

    assert block.records[0].status == wire.WRONG_RETURN_TYPE
    assert process.text("stderr.txt") == ""


def test_a_run_that_takes_two_arguments_gets_the_context(make_process: Make) -> None:
    process = make_process(
        "def run(paths, about):\n"
        "    return [repr((about.minibatch_index, about.task_id, about.try_number,\n"
        "        about.partition_key_value, len(about.dataset), about.dataset.to_path(),\n"
        "        paths.task_id))]\n"
    )
    process.write_files(["/x"], ["/a"])
    process.start()

    process.lease(1, try_number=2)

    assert process.segment() == b"(1, '1', 2, {}, 1, ['/a'], '1')\n"


def test_a_mini_batch_of_files_is_a_list_that_can_be_pickled(make_process: Make) -> None:
    process = make_process(
        "import pickle\n"
        "def run(mini_batch):\n"
        "    again = pickle.loads(pickle.dumps(mini_batch))\n"
        "    assert isinstance(again, list) and again == mini_batch, again\n"
        "    assert again.task_id == '0' and '/b' in mini_batch and mini_batch[1:] == ['/b']\n"
        "    return again\n"
    )
    process.write_files(["/a", "/b"])
    process.start()

    assert process.lease(0).errors == []


def test_file_names_that_are_no_utf_8_come_out_as_they_are(make_process: Make) -> None:
    process = make_process()
    name = os.fsdecode(b"/d/\xff\n.txt")
    process.write_files([name])
    process.start()

    process.lease(0)

    assert process.segment() == b"/d/\xff\n.txt\n"
    warning = process.frames[-2].json
    assert warning["code"] == "line_breaks_in_results"
    assert warning["text"].startswith("1 of 1 results of mini-batch 0 have line breaks")


def test_without_results_to_write_they_are_counted_only(make_process: Make) -> None:
    process = make_process(output_action="summary_only")
    process.write_files(["/a", "/b"])
    process.start()

    (record,) = process.lease(0).records

    assert record[2:9] == (wire.OUTCOME_SUCCEEDED, wire.RUN_DONE, 2, 2, 2, 0, 0)
    assert process.segment() == b""


def test_in_rank_mode_a_mini_batch_is_one_item_whatever_it_returns(make_process: Make) -> None:
    process = make_process(
        "def run(mini_batch, context):\n"
        "    return [mini_batch, context.minibatch_index, 'x']\n",
        rank_mode=True,
        inputs=[],
    )
    process.start()

    first, second = process.lease(6, 2).records

    assert first[2:7] == (wire.OUTCOME_SUCCEEDED, wire.RUN_DONE, 1, 1, 3)
    assert second.index == 7
    assert process.segment() == b"[]\n6\nx\n[]\n7\nx\n"


def test_init_and_shutdown_are_called_once_around_everything(make_process: Make) -> None:
    process = make_process(
        "calls = []\n"
        "def init():\n    calls.append('init')\n"
        "def run(mini_batch):\n    calls.append('run')\n    return mini_batch\n"
        "def shutdown():\n    print(calls)\n"
    )
    process.write_files(["/a"], ["/b"])
    process.start()

    ready = process.read_frame()
    process.lease(0, 2)
    ended = process.end()

    assert ready.kind == wire.FRAME_READY
    assert 0 <= ready.json["init_seconds"] < 60
    assert ended.json == {"error": None}
    assert process.exit_code() == wire.EXIT_ENDED
    assert process.text("stdout.txt") == "['init', 'run', 'run']\n"
    assert process.phase() == ("ended", 1)


def test_leases_sent_ahead_are_all_run_before_the_end(make_process: Make) -> None:
    process = make_process()
    process.write_files(["/a"], ["/b"])
    process.start()
    process.send_lease(0, lease_id=1)
    process.send_lease(1, lease_id=2)

    process.end()

    done = [frame.lease_id for frame in process.frames if frame.kind == wire.FRAME_LEASE_DONE]
    assert done == [1, 2]


def test_an_exception_in_shutdown_is_told_and_the_process_still_ends_well(
    make_process: Make,
) -> None:
    process = make_process(
        "def run(mini_batch):\n    return []\ndef shutdown():\n    raise OSError('late')\n"
    )
    process.start()

    error = process.end().json["error"]

    assert (error["kind"], error["index"], error["message"]) == ("shutdown", None, "late")
    assert process.exit_code() == wire.EXIT_ENDED


@pytest.mark.parametrize(
    ("script", "kind", "types"),
    [
        ("def init():\n    raise RuntimeError('no model')\n", "init", ["RuntimeError"]),
        ("import no_such_module\n", "import", ["ModuleNotFoundError"]),
        ("import sys\nsys.exit(2)\n", "import", ["SystemExit"]),
    ],
)
def test_a_failing_import_or_init_is_told_with_the_users_line(
    make_process: Make, script: str, kind: str, types: list[str]
) -> None:
    process = make_process(script + "def run(mini_batch):\n    return []\n")
    process.start()

    told = process.read_until(wire.FRAME_INIT_FAILED).json

    assert process.exit_code() == wire.EXIT_INIT_FAILED
    assert not told["invalid_script"]
    assert (told["error"]["kind"], told["error"]["types"]) == (kind, types)
    assert "score.py" in told["error"]["traceback"].splitlines()[1]
    assert "score.py" in process.text("error.txt")


def test_the_exit_of_argparse_is_told_with_what_to_do(make_process: Make) -> None:
    process = make_process(
        "import argparse\n"
        "argparse.ArgumentParser().parse_args()\n"
        "def run(mini_batch):\n    return []\n",
        settings_arguments=["--mini_batch_size", "10"],
    )
    process.start()

    message = process.read_until(wire.FRAME_INIT_FAILED).json["error"]["message"]

    assert "use parse_known_args()" in message
    assert "unrecognized arguments: --mini_batch_size 10" in process.text("stderr.txt")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("x = 1\n", "score.py has no function run()"),
        ("run = 5\n", "has a run that is no function"),
        ("def run():\n    pass\n", "takes none"),
        ("def run(a, b, c):\n    pass\n", "needs 3 arguments"),
        ("def run(a, *, b):\n    pass\n", "needs 2 arguments"),
        ("def run(mini_batch:\n", "score.py, line 1"),
    ],
)
def test_a_script_that_no_process_can_run_is_said_to_be_invalid(
    make_process: Make, script: str, said: str
) -> None:
    process = make_process(script)
    process.start()

    told = process.read_until(wire.FRAME_INIT_FAILED).json

    assert told["invalid_script"]
    assert said in told["error"]["message"]
    assert process.exit_code() == wire.EXIT_INIT_FAILED


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("def run(a, b=None):\n    return [b is None]\n", "False"),
        ("def run(*all):\n    return [len(all)]\n", "1"),
        (
            "class Run:\n    def __call__(self, a):\n        return ['called']\nrun = Run()\n",
            "called",
        ),
        (
            "import functools\n"
            "def wrap(f):\n"
            "    @functools.wraps(f)\n"
            "    def inner(*a, **k):\n        return f(*a, **k)\n"
            "    return inner\n"
            "@wrap\n"
            "def run(mini_batch, context):\n    return [context.task_id]\n",
            "0",
        ),
    ],
)
def test_run_may_be_any_callable_of_one_or_two(
    make_process: Make, script: str, result: str
) -> None:
    process = make_process(script)
    process.write_files(["/a"])
    process.start()

    process.lease(0)

    assert process.segment().decode() == result + "\n"


def test_an_unsupported_output_format_is_refused_before_any_mini_batch(
    make_process: Make,
) -> None:
    process = make_process(output={"format": "parquet"})
    process.start()

    told = process.read_until(wire.FRAME_INIT_FAILED).json

    assert told["invalid_script"]
    assert told["error"]["message"].startswith("output format parquet cannot be written yet")


def test_a_configuration_with_an_unknown_member_is_refused(make_process: Make) -> None:
    process = make_process(assignement=5)
    process.start()

    assert process.exit_code() == wire.EXIT_CONFIG_INVALID
    assert "not known ['assignement']" in process.text("fd2.txt")


def test_a_full_disk_ends_the_process_with_a_code_of_its_own(make_process: Make) -> None:
    process = make_process(segment="/dev/full")
    process.write_files(["/a"])
    process.start()
    process.send_lease(0)

    assert process.exit_code() == wire.EXIT_SEGMENT_NOT_WRITABLE
    assert "segment not writable: /dev/full" in process.text("fd2.txt")


@pytest.mark.parametrize(
    "body",
    [
        "os.closerange(3, 4096)",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))",
    ],
)
def test_a_script_that_takes_its_files_away_is_no_full_disk(
    make_process: Make, body: str
) -> None:
    script = f"import os, resource\ndef run(items):\n    {body}\n    return ['x' * 200]\n"
    process = make_process(script)
    process.write_files(["/a"])
    process.start()
    process.send_lease(0)

    assert process.exit_code() == wire.EXIT_FILES_TAKEN


def test_a_full_disk_under_its_standard_error_too_changes_no_exit_code(
    make_process: Make,
) -> None:
    process = make_process("def run(items):\n    return list(items)\n", segment="/dev/full")
    process.path("fd2.txt").symlink_to("/dev/full")
    process.write_files("a")
    process.start()

    process.send_lease(0)

    assert process.exit_code() == wire.EXIT_SEGMENT_NOT_WRITABLE
    assert process.phase() == ("written", 0)


def test_a_memory_error_is_reported_and_the_process_leaves(make_process: Make) -> None:
    process = make_process("def run(mini_batch):\n    raise MemoryError\n")
    process.write_files(["/a"], ["/b"])
    process.start()
    process.send_lease(0, 2)

    frame = process.read_until(wire.FRAME_BLOCK)

    (record,) = unpack_block(frame.body).records
    assert record[:4] == (0, 1, wire.OUTCOME_TRY_FAILED, wire.OUT_OF_MEMORY)
    assert process.exit_code() == wire.EXIT_OUT_OF_MEMORY


def test_a_manifest_that_cannot_be_read_fails_the_mini_batches(make_process: Make) -> None:
    process = make_process()
    process.write_files(["/a"])
    process.start()

    block = process.lease(0, 2)

    assert [record[3:5] for record in block.records] == [(wire.LOAD_EXCEPTION, 1)] * 2
    assert "has no mini-batch 1" in block.errors[0]["message"]
    assert "counted as 1 item" in block.errors[0]["message"]


def test_the_status_words_say_what_goes_on(make_process: Make, wait_until: Any) -> None:
    process = make_process(
        "import os, time\n"
        "def run(mini_batch):\n"
        "    while not os.path.exists('go'):\n        time.sleep(0.01)\n"
        "    return mini_batch\n"
    )
    process.write_files(["/a"], ["/b"])
    process.start()
    process.send_lease(1, try_number=2, lease_id=77)

    wait_until(lambda: process.phase() == ("run", 1), what="run() of mini-batch 1")
    words = process.words()
    (process.folder / "work" / "go").touch()
    process.read_lease_end()
    wait_until(lambda: process.phase() == ("idle", 1), what="idle after the lease")

    assert words[wire.WORD_TRY] == 2
    assert words[wire.WORD_LEASE] == 77
    assert words[wire.WORD_DONE] == 0
    assert 0 < time.monotonic_ns() - words[wire.WORD_SINCE] < 60e9
    assert process.words()[wire.WORD_DONE] == 1


def test_what_has_ended_is_reported_while_a_long_run_goes_on(make_process: Make) -> None:
    process = make_process(
        "import os, time\n"
        "def run(mini_batch):\n"
        "    while mini_batch == ['/slow'] and not os.path.exists('go'):\n"
        "        time.sleep(0.01)\n"
        "    return mini_batch\n"
    )
    process.write_files(["/a"], ["/slow"])
    process.start()
    process.send_lease(0, 2)

    early = process.read_until(wire.FRAME_BLOCK)

    assert wire.BLOCK_HEAD.unpack_from(early.body)[5] == 1
    assert process.segment() == b"/a\n"
    assert process.phase() == ("run", 1)
    assert "picked mini-batch 1 try 1 of 3: 1 item, /slow" in process.text("sys.txt")
    (process.folder / "work" / "go").touch()
    assert [record.index for record in process.read_lease_end().records] == [1]


def test_a_kill_leaves_the_phase_of_what_had_started(
    make_process: Make, wait_until: Any
) -> None:
    process = make_process("import os\ndef run(mini_batch):\n    os.kill(os.getpid(), 9)\n")
    process.write_files(["/a"], ["/b"])
    process.start()
    process.send_lease(1)

    assert process.exit_code() == -signal.SIGKILL
    assert process.phase() == ("run", 1)


def test_an_interrupt_from_the_keyboard_is_the_agents_business(make_process: Make) -> None:
    process = make_process()
    process.write_files(["/a"])
    process.start()
    process.read_frame()
    assert process.process is not None
    process.process.send_signal(signal.SIGINT)

    assert len(process.lease(0).records) == 1


def test_asked_for_it_writes_the_stacks_of_all_threads(
    make_process: Make, wait_until: Any
) -> None:
    process = make_process(
        "import time\ndef run(mini_batch):\n    waiting_here()\n"
        "def waiting_here():\n    time.sleep(60)\n"
    )
    process.write_files(["/a"])
    process.start()
    process.send_lease(0)
    wait_until(lambda: process.phase() == ("run", 0), what="run()")
    assert process.process is not None
    process.process.send_signal(signal.SIGUSR2)

    wait_until(lambda: "waiting_here" in process.text("error.txt"), what="stacks")


def test_when_the_agent_is_gone_nothing_stays(make_process: Make, wait_until: Any) -> None:
    process = make_process(
        "import subprocess, time\n"
        "def run(mini_batch):\n"
        "    child = subprocess.Popen(['sleep', '300'])\n"
        "    print(child.pid, flush=True)\n"
        "    time.sleep(300)\n"
    )
    process.write_files(["/a"])
    process.start()
    process.send_lease(0)
    wait_until(lambda: process.text("stdout.txt").strip(), what="the script's child")
    child = int(process.text("stdout.txt"))

    os.close(process.control_fd)
    process.control_fd = -1

    assert process.exit_code() == -signal.SIGKILL
    wait_until(lambda: not _is_running(child), what="end of the script's child")


def test_a_parent_killed_takes_the_process_along(make_process: Make, wait_until: Any) -> None:
    """The control pipe stays open here, so only the parent's death is left to notice."""
    process = make_process("import time\ndef run(mini_batch):\n    time.sleep(300)\n")
    parent = subprocess.Popen(
        [sys.executable, "-c", _START_AND_SLEEP, str(process.folder), *_driver_path()],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert parent.stdout is not None
    pid, holder = map(int, parent.stdout.readline().split())
    try:
        parent.kill()
        parent.wait()

        wait_until(lambda: not _is_running(pid), what="end of the orphaned process")
    finally:
        os.kill(holder, signal.SIGKILL)
        parent.stdout.close()


_START_AND_SLEEP = """
import os, sys, time
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from tests.unit.harness.worker_process_driver import WorkerProcess
process = WorkerProcess(Path(sys.argv[1]))
process.start()
os.set_inheritable(process.control_fd, True)
holder = os.fork()
if holder == 0:
    os.close(1)
    time.sleep(60)  # holds the pipe open
    os._exit(0)
process.read_frame()
print(process.process.pid, holder, flush=True)
time.sleep(300)
"""


def _driver_path() -> list[str]:
    here = Path(__file__).resolve()
    return [str(here.parent), str(here.parents[3])]


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_forked_child_cannot_report_in_our_name(make_process: Make) -> None:
    process = make_process(
        "import os\n"
        "def run(mini_batch):\n"
        "    pid = os.fork()\n"
        "    if pid:\n        os.waitpid(pid, 0)\n"
        "    return mini_batch\n"  # the child goes on as if it were us
    )
    process.write_files(["/a"])
    process.start()

    block = process.lease(0)
    process.end()

    assert [record.index for record in block.records] == [0]
    assert process.segment() == b"/a\n"


@pytest.mark.skipif(PYTHON_3_8 is None, reason="no Python 3.8 on this machine")
def test_all_of_it_runs_with_python_3_8(make_process: Make) -> None:
    process = make_process(
        "from azureml_user.parallel_run import EntryScript\n"
        "def init():\n    EntryScript().logger.info('made')\n"
        "def run(mini_batch, context):\n"
        "    if mini_batch == ['/bad']:\n        raise ValueError('bad')\n"
        "    return mini_batch\n"
    )
    assert PYTHON_3_8 is not None
    process.python = PYTHON_3_8
    process.write_files(["/a", "/b"], ["/bad"])
    process.start()

    block = process.lease(0, 2)
    process.end()

    assert [record.status for record in block.records] == [wire.RUN_DONE, wire.RUN_EXCEPTION]
    assert block.errors[0]["frames"][0][2:5] == ["run", 6, "raise ValueError('bad')"]
    assert process.segment() == b"/a\n/b\n"
    assert "Python 3.8" in process.text("sys.txt")
    assert process.text("entry.log.txt").endswith("|score.py:3|made\n")
    assert process.exit_code() == 0


def test_what_a_try_printed_is_noted_beside_the_segment(make_process: Make) -> None:
    process = make_process(
        "import sys\n"
        "def run(mini_batch, context):\n"
        "    if context.minibatch_index == 1:\n"
        "        print('one')\n"
        "    if context.minibatch_index == 2:\n"
        "        print('error', file=sys.stderr)\n"
        "        raise ValueError('two')\n"
        "    return mini_batch\n"
    )
    process.write_files(["/d/0"], ["/d/1"], ["/d/2"])
    process.start()

    process.lease(0, 3, try_number=2)

    assert process.printed() == [(1, 2, 0, 4, 0, 0), (2, 2, 4, 4, 0, 6)]
