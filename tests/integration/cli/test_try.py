"""``prs try`` as a user starts it: a process of its own, no server, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from prsweb.paths import CHECKOUT

LIMIT_SECONDS = 60.0
ENTRY_SCRIPT = """
import argparse, logging
from azureml_user.parallel_run import EntryScript

def init():
    global arguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--digits", type=int)
    arguments, rest = parser.parse_known_args()
    print("rest of argv:", *rest)

def run(mini_batch):
    print("mini-batch of type", type(mini_batch).__name__, "with", len(mini_batch))
    logging.warning("a warning of the root logger")
    EntryScript().logger.info("a line of the entry script's log")
    return [f"{open(path).read()}:{arguments.digits}" for path in mini_batch]
"""


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Place:
    """A folder with files to score and a folder for scripts; all that a trial may leave
    behind would lie in ``temporary`` or in ``home``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files, self.source = root / "files", root / "src"
        self.temporary, self.home = root / "tmp", root / "home"
        for folder in (self.files, self.source, self.temporary):
            folder.mkdir()
        for number in range(5):
            (self.files / f"{number}.txt").write_text(str(number))
        kept = {key: text for key, text in os.environ.items() if not key.startswith("PRSWEB_")}
        self.environment = kept | {
            "PYTHONPATH": str(CHECKOUT),
            "PRSWEB_HOME": str(self.home),
            "TMPDIR": str(self.temporary),
        }

    def script(self, text: str, name: str = "score.py") -> str:
        (self.source / name).write_text(text)
        return str(self.source / name)

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "prsweb.cli", "try", *map(str, arguments)],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def prs_try(self, *arguments: object) -> Ended:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        return Ended(process.returncode, out, err)

    def processes(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            text = " ".join([*process.cmdline(), *process.environ().values()])
            return str(self.temporary) in text and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, OSError):
            return False


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Fail when a trial leaves a process, a file or a folder."""
    place = Place(tmp_path)
    yield place
    left = place.processes()
    for process in left:
        process.kill()
    assert not left
    assert list(place.temporary.iterdir()) == []
    assert not place.home.exists()


def test_p24_one_mini_batch_shows_results_prints_and_counts_without_a_server(
    place: Place,
) -> None:
    script = place.script(ENTRY_SCRIPT)
    arguments = '["--digits", "3"]'

    ended = place.prs_try(
        script, "--input", "files", "--mini-batches", "1", "--set", f"arguments={arguments}"
    )

    assert ended.status == 0, ended
    assert "mini-batch 0: 1 item, 1 succeeded, 0 failed" in ended.out
    assert "    0:3\n" in ended.out
    assert "with 1\n" in ended.out
    assert "|WARNING|root|a warning of the root logger" in ended.out
    assert "a line of the entry script's log" in ended.out
    assert "rest of argv: --mini_batch_size 10 --error_threshold -1" in ended.out
    assert ended.out.endswith("1 mini-batch succeeded\n")
    assert ended.err == ""


def test_p24_the_traceback_begins_in_the_script_and_names_the_users_own_file(
    place: Place,
) -> None:
    script = place.script("def run(mini_batch):\n    raise ValueError('bad header')\n")

    ended = place.prs_try(script, "--input", "files", "--mini-batches", "1")

    assert ended.status == 1
    after = ended.out.split("mini-batch 0: 1 item, 0 succeeded, 1 failed", 1)[1]
    assert after.splitlines()[1:4] == [
        "Traceback (most recent call last):",
        f'  File "{script}", line 2, in run',
        "    raise ValueError('bad header')",
    ]
    assert ended.out.endswith("1 of 1 mini-batch failed: ValueError: bad header\n")


def test_p31_a_script_for_one_item_fails_with_the_second_mini_batch(place: Place) -> None:
    script = place.script(
        "def run(mini_batch):\n    (path,) = mini_batch\n    return [path.rsplit('/')[-1]]\n"
    )

    plain = place.prs_try(script, "--input", "files", "--mini-batches", "2")
    answer = place.prs_try(script, "--input", "files", "--mini-batches", "2", "--json")

    assert (plain.status, answer.status) == (1, 1)
    assert "mini-batch 0: 1 item, 1 succeeded, 0 failed" in plain.out
    assert "mini-batch 1: 2 items, 0 succeeded, 2 failed" in plain.out
    assert "ValueError: too many values to unpack (expected 1)" in plain.out
    first, second = answer.json["mini_batches"]
    assert (first["index"], first["items"], first["succeeded"], first["error"]) == (
        0,
        1,
        1,
        None,
    )
    assert (second["items"], second["succeeded"], second["failed"]) == (2, 0, 2)
    assert second["error"]["title"] == "ValueError: too many values to unpack (expected 1)"
    assert second["error"]["place"] == "score.py:2"
    assert answer.json["rows"] == ["0.txt"]


def test_a_job_file_gives_its_keys_and_its_outputs_stay_untouched(place: Place) -> None:
    place.script("def run(frame):\n    return frame.assign(b=frame.a * 2)\n")
    (place.root / "t.csv").write_text("a\n1\n2\n3\n4\n5\n6\n")
    (place.root / "job.yml").write_text(
        f"""
kind: parallel_run_step
name: doubled
inputs: [{{name: rows, type: table, path: t.csv}}]
mini_batch_size: 2rows
source_directory: src
entry_script: score.py
output_action: append_row
output: {{path: {place.root}/results, format: csv}}
"""
    )

    answer = place.prs_try("job.yml", "--mini-batches", "9", "--json")

    assert answer.status == 0, answer
    assert [one["items"] for one in answer.json["mini_batches"]] == [1, 2, 2, 1]
    assert answer.json["rows"] == [f"{number},{number * 2}" for number in range(1, 7)]
    assert not (place.root / "results").exists()


def test_a_process_that_dies_fails_its_mini_batch_and_is_replaced(place: Place) -> None:
    script = place.script(
        "import os\n"
        "def run(mini_batch):\n"
        "    if len(mini_batch) == 1: os._exit(7)\n"
        "    return mini_batch\n"
    )

    answer = place.prs_try(script, "--input", "files", "--json")

    first, second = answer.json["mini_batches"]
    assert answer.status == 1
    assert "exit code 7" in first["error"]["title"]
    assert (second["succeeded"], second["error"]) == (2, None)


def test_a_run_that_takes_too_long_is_ended_with_its_stack(place: Place) -> None:
    script = place.script(
        "import time\ndef run(mini_batch):\n    time.sleep(600)\n", name="sleepy.py"
    )

    ended = place.prs_try(
        script,
        *("--input", "files", "--mini-batches", "1", "--set", "run_invocation_timeout=1"),
    )

    assert ended.status == 1
    assert "took longer than run_invocation_timeout (1 s)" in ended.out
    assert f'File "{script}", line 3 in run' in ended.out


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("def init():\n    raise RuntimeError('no model')\n", "RuntimeError: no model"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def init():\n    import os\n    os._exit(5)\n", "Ended with exit code 5"),
    ],
)
def test_an_init_that_fails_is_status_1_and_runs_nothing(
    place: Place, text: str, title: str
) -> None:
    script = place.script(text + "def run(mini_batch):\n    return mini_batch\n")

    answer = place.prs_try(script, "--input", "files", "--json")

    assert answer.status == 1
    assert answer.json["mini_batches"] == []
    assert answer.json["init_error"]["title"] == title


def test_too_few_results_fail_and_say_how_many(place: Place) -> None:
    script = place.script("def run(mini_batch):\n    return mini_batch[:1]\n")

    ended = place.prs_try(script, "--input", "files")

    assert ended.status == 1
    assert "mini-batch 1: 2 items, 1 succeeded, 1 failed" in ended.out
    assert "run() returned 1 result for 2 items" in ended.out


def test_what_the_script_leaves_running_or_writes_is_gone(place: Place) -> None:
    script = place.script(
        "import subprocess\n"
        "from azureml_user.parallel_run import EntryScript\n"
        "def run(mini_batch):\n"
        "    subprocess.Popen(['setsid', 'sleep', '600'])\n"
        "    (EntryScript().output_dir / 'big.bin').write_text('x')\n"
        "    return mini_batch\n"
    )

    ended = place.prs_try(script, "--input", "files", "--mini-batches", "1")

    assert ended.status == 0, ended
    assert "in the output folder, not kept: 1 file (big.bin)" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py", "--input", "files"], "nowhere.py: no such file"),
        (["src", "--input", "files"], "src: is no file"),
        (["src/score.py"], "--input is missing"),
        (["src/score.py", "--input", "nowhere"], "nowhere: no such file or folder"),
        (["src/score.py", "--input", "empty"], "there is no item in it"),
        (["src/score.py", "--input", "files", "--mini-batches", "0"], "0 is not in the range"),
        (
            ["src/score.py", "--input", "files", "--set", "environment.python=3.99"],
            "no python3.99 on the PATH",
        ),
    ],
)
def test_what_cannot_be_tried_is_one_line_and_status_2(
    place: Place, arguments: list[str], message: str
) -> None:
    place.script("def run(mini_batch):\n    return mini_batch\n")
    (place.root / "empty").mkdir()

    ended = place.prs_try(*arguments)

    assert ended.status == 2, ended
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
    assert ended.out == ""


def test_wrong_keys_are_told_with_the_keys_and_the_error_object(place: Place) -> None:
    script = place.script("def run(mini_batch):\n    return mini_batch\n")

    answer = place.prs_try(script, "--input", "files", "--set", "run_max_try=0", "--json")

    assert answer.status == 2
    problems = answer.json["error"]["problems"]
    assert [problem["path"] for problem in problems] == ["run_max_try"]


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -9)],
)
def test_however_it_is_ended_nothing_is_left(
    place: Place, number: signal.Signals, status: int
) -> None:
    started = place.root / "started"
    script = place.script(
        "import pathlib, subprocess, time\n"
        "def run(mini_batch):\n"
        "    subprocess.Popen(['setsid', 'sleep', '600'])\n"
        f"    pathlib.Path({str(started)!r}).touch()\n"
        "    time.sleep(600)\n"
    )
    process = place.start(script, "--input", "files")
    wait_until(started.exists, "run() has begun")

    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT_SECONDS)

    assert process.returncode == status
    assert "Traceback" not in err
    wait_until(lambda: not place.processes(), "no process is left")
    wait_until(lambda: not list(place.temporary.iterdir()), "no folder is left")


def wait_until(is_so: Any, what: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)
