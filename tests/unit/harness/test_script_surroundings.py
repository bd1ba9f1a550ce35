"""What the script finds around it: argv, sys.path, files for its text, EntryScript."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.harness import wire
from tests.unit.harness.worker_process_driver import WorkerProcess

Make = Callable[..., WorkerProcess]

SHIM = Path(wire.__file__).parent / "shim"
SYSTEM_LINE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\|INFO\|\d+\|\d+\|"


def printed(process: WorkerProcess) -> str:
    """Start the process, wait until it is ready, return what it printed."""
    process.start()
    process.read_until(wire.FRAME_READY)
    return process.text("stdout.txt")


def test_argv_holds_the_scripts_own_arguments_and_then_the_settings(
    make_process: Make,
) -> None:
    script = "import sys\nprint(sys.argv[1:])\ndef run(mini_batch):\n    return []\n"
    arguments = {"arguments": ["--limit", "0.5"], "settings_arguments": ["--run_max_try", "3"]}

    both = printed(make_process(script, **arguments))
    own = printed(make_process(script, **arguments, script_sees_settings=False))

    assert both == "['--limit', '0.5', '--run_max_try', '3']\n"
    assert own == "['--limit', '0.5']\n"


def test_nothing_of_ours_can_be_imported(make_process: Make) -> None:
    process = make_process(
        "import importlib.util, sys\n"
        "for name in ('runner', 'prsweb', 'wire', 'process', 'harness', 'table'):\n"
        "    assert importlib.util.find_spec(name) is None, name\n"
        "print(__name__, __file__ == sys.argv[0])\n"
        "def run(mini_batch):\n    return []\n"
    )

    assert printed(process) == "score True\n"


def test_modules_of_the_script_may_be_called_as_ours(make_process: Make) -> None:
    process = make_process(
        "import errors, wire\n"
        "print(errors.mine, wire.mine)\n"
        "def run(mini_batch):\n    return []\n"
    )
    process.write_script("mine = 1\n", "errors.py")
    process.write_script("mine = 2\n", "wire.py")

    assert printed(process) == "1 2\n"


def test_sys_path_is_the_working_directory_the_scripts_folder_and_last_the_shim(
    make_process: Make,
) -> None:
    process = make_process("", entry_script="scoring/main.py")
    process.write_script(
        "import os, sys, beside\n"
        "print(__name__, os.getcwd() == sys.path[0], sys.path[1], sys.path[-1])\n"
        "def run(mini_batch):\n    return []\n",
        "scoring/main.py",
    )
    process.write_script("", "scoring/beside.py")

    work = process.folder / "work"
    assert printed(process) == f"scoring.main True {work}/scoring {SHIM}\n"


def test_a_script_may_be_named_as_a_module_or_have_a_name_that_is_none(
    make_process: Make,
) -> None:
    script = "print(__name__)\ndef run(mini_batch):\n    return []\n"
    dotted = make_process("", entry_script="pkg.main")
    dotted.write_script(script, "pkg/main.py")
    odd = make_process("", entry_script="./score-a.py")
    odd.write_script(script, "score-a.py")
    hidden = make_process("", entry_script="json.py")
    hidden.write_script(script, "json.py")
    inside = make_process("", entry_script="code/main.py")  # the library has a module "code"
    inside.write_script(script, "code/main.py")

    assert printed(dotted) == "pkg.main\n"
    assert printed(odd) == "score-a\n"
    assert printed(hidden) == "entry_script_json\n"
    assert printed(inside) == "main\n"


def test_the_scripts_text_goes_to_files_of_its_process(make_process: Make) -> None:
    process = make_process(
        "import logging, os, sys, warnings\n"
        "logging.basicConfig(format='changed')\n"
        "def run(mini_batch):\n"
        "    print('printed')\n"
        "    print('to stderr', file=sys.stderr)\n"
        "    logging.debug('quiet')\n"
        "    logging.getLogger('lib').warning('logged')\n"
        "    warnings.warn('careful')\n"
        "    os.system('echo child')\n"
        "    os.write(2, b'raw')\n"
        "    return mini_batch\n"
    )
    process.write_files(["/a"])
    process.start()

    process.lease(0)

    first, second = process.text("stdout.txt").splitlines()
    assert first == "printed"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:]{8},\d{3}\|WARNING\|lib\|logged", second)
    assert process.text("stderr.txt").startswith("to stderr\n")
    assert "careful" in process.text("stderr.txt")
    assert process.text("fd1.txt") == "child\n"
    assert process.text("fd2.txt") == "raw"


def test_a_crash_in_c_code_leaves_its_stack_on_descriptor_2(make_process: Make) -> None:
    process = make_process("import ctypes\ndef run(mini_batch):\n    ctypes.string_at(0)\n")
    process.write_files(["/a"])
    process.start()
    process.send_lease(0)

    assert process.exit_code() == -11
    assert 'score.py", line 3 in run' in process.text("fd2.txt")


def test_the_process_file_tells_what_it_runs_and_each_try(make_process: Make) -> None:
    process = make_process(
        arguments=["--key", "hunter2"], masked=["hunter2"], gpu=1, environment={"pandas": "2.2"}
    )
    process.write_files(["/data/scans/a.png", "/data/scans/b.png", "/data/scans/c.png"])
    process.start()

    process.lease(0, try_number=2)
    process.end()

    text = process.text("sys.txt")
    assert "hunter2" not in text
    for line in text.splitlines():
        assert re.match(SYSTEM_LINE, line)
    texts = [line.split("|", 4)[4] for line in text.splitlines()]
    pid = process.process.pid if process.process else 0
    assert texts[0] == f"process003 of job 7f3a on node n1, address 127.0.1.2, pid {pid}"
    assert texts[4].endswith("score.py', '--key', '***']")
    assert texts[5:7] == ["GPU index 1", "pandas 2.2"]
    assert texts[8] == "picked mini-batch 0 try 2 of 3: 3 items, scans/a.png … scans/c.png"
    assert re.fullmatch(
        rf"done mini-batch 0 try 2: address 127\.0\.1\.2 pid {pid} "
        r"total 3 succeeded 3 failed 0 "
        r"start \d{4}-\d\d-\d\dT[\d:]{8}\.\d{3} duration 0\.\d{3} process 0\.\d{3} "
        r"run 0\.\d{3} status RUN_DONE",
        texts[9],
    )


def test_the_error_file_has_each_traceback_once_with_mini_batch_and_try(
    make_process: Make,
) -> None:
    process = make_process(
        "import subprocess, sys\n"
        "def run(mini_batch):\n"
        "    child = 'print(\"from the child\"); raise SystemExit(4)'\n"
        "    subprocess.run([sys.executable, '-c', child], capture_output=True, check=True)\n"
    )
    process.write_files(["/a"], ["/b"])
    process.start()

    process.lease(0, 2)

    text = process.text("error.txt")
    assert re.match(r"\d{4}-\d\d-\d\d [\d:]{8},\d{3}\|mini-batch 0 try 1\|Traceback", text)
    assert text.count("Traceback") == 1
    assert "--- its stdout:\nfrom the child\n" in text
    assert "|mini-batch 1 try 1|subprocess.CalledProcessError: " in text.splitlines()[-1]
    assert text.endswith("(as for mini-batch 0 try 1)\n")


def test_init_run_and_shutdown_can_be_profiled(make_process: Make, tmp_path: Path) -> None:
    profile = tmp_path / "process003.profile"
    process = make_process(
        "def work():\n    return sum(range(1000))\n"
        "def init():\n    work()\n"
        "def run(mini_batch):\n    work()\n    raise ValueError\n",
        profiling_module="cProfile",
        profile_file=str(profile),
    )
    process.write_files(["/a"])
    process.start()

    block = process.lease(0)
    process.end()
    process.exit_code()

    assert block.errors[0]["frames"][0][2] == "run"
    assert "cProfile" not in block.errors[0]["traceback"]
    show = f"import pstats; pstats.Stats({str(profile)!r}).print_stats('work')"
    shown = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True)
    assert re.search(rb"\s2 .*score\.py:1\(work\)", shown.stdout)


USES_ENTRY_SCRIPT = """
import json, os, pickle
from azureml_user.parallel_run import EntryScript
entry = EntryScript()
entry.logger.debug("quiet")
entry.logger.info("heard")
same = pickle.loads(pickle.dumps(entry)) is entry and EntryScript() is entry
(entry.log_dir / (entry.agent_name + "_mine.txt")).write_text("x")
told = {name: str(getattr(entry, name)) for name in
        ("log_dir", "agent_name", "output_dir", "working_dir", "dir", "logging_level")}
told["same"] = same
print(json.dumps(told))
def run(mini_batch):
    return mini_batch
"""


def test_the_entry_script_knows_its_job(make_process: Make) -> None:
    process = make_process(USES_ENTRY_SCRIPT)

    told = json.loads(printed(process))

    assert told == {
        "log_dir": process.config["log_dir"],
        "agent_name": "process003",
        "output_dir": process.config["output_folder"],
        "working_dir": process.config["work_dir"],
        "dir": process.config["work_dir"],
        "logging_level": "INFO",
        "same": True,
    }
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d [\d:]{8},\d{3}\|INFO\|\d+\|\d+\|score\.py:6\|heard\n",
        process.text("entry.log.txt"),
    )
    assert (process.path("entry") / "process003_mine.txt").exists()


def test_debug_lines_are_kept_when_the_job_asks_for_them(make_process: Make) -> None:
    process = make_process(USES_ENTRY_SCRIPT, logging_level="DEBUG")

    printed(process)

    assert "|DEBUG|" in process.text("entry.log.txt")


def test_entry_script_works_outside_a_job(tmp_path: Path) -> None:
    script = tmp_path / "score.py"
    script.write_text(USES_ENTRY_SCRIPT)
    result = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(SHIM)},
        capture_output=True,
        check=True,
        text=True,
    )

    told = json.loads(result.stdout)

    assert told["same"]
    assert (told["agent_name"], told["output_dir"]) == ("process000", ".")
    assert (told["dir"], told["logging_level"]) == (str(tmp_path), "INFO")
    log = tmp_path / "logs/user/entry_script_log/local/process000.log.txt"
    assert log.read_text() == result.stderr
    assert result.stderr.endswith("|score.py:6|heard\n")


def test_a_pickled_mini_batch_can_be_read_where_the_harness_is_not(tmp_path: Path) -> None:
    from runner.harness.mini_batch import FileMiniBatch

    mini_batch = FileMiniBatch(["/a"])
    mini_batch.task_id = "7"
    read = "import pickle, sys; m = pickle.load(sys.stdin.buffer); print(m, m.task_id)"
    sys.path.append(str(SHIM))
    try:
        data = pickle.dumps(mini_batch)
    finally:
        sys.path.remove(str(SHIM))

    result = subprocess.run(
        [sys.executable, "-c", read],
        input=data,
        env={"PYTHONPATH": str(SHIM)},
        capture_output=True,
        check=True,
    )

    assert result.stdout == b"['/a'] 7\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_script_may_start_processes_with_multiprocessing(
    make_process: Make, method: str
) -> None:
    process = make_process(
        "import multiprocessing\n"
        "def upper(path):\n    return path.upper()\n"
        "def run(mini_batch):\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        return pool.map(upper, mini_batch)\n"
    )
    process.write_files(["/a", "/b"])
    process.start()

    block = process.lease(0)
    process.end()

    assert block.errors == []
    assert process.segment() == b"/A\n/B\n"
    assert process.exit_code() == wire.EXIT_ENDED
