"""A node's part in a multi-node or plain job, with real processes and a real Redis."""

from __future__ import annotations

import signal
import sys

import psutil
import pytest

from runner.core.messages import AssignmentEnded, CommandEnded, CommandStarted
from runner.node.command_guard import OUT_OF_MEMORY
from runner.node.line_times import index_path, read_line_times
from tests.integration.node.conftest import command_line
from tests.integration.node.waiting import wait_for


@pytest.fixture
def run_command(master):
    """Return what sends a one-node job with this command."""

    def send(*command: str, **spec) -> None:
        master.write_spec(kind="command", command=list(command), **spec)
        master.assign(kind="command")

    return send


def ended(master) -> CommandEnded:
    [end] = master.wait_for_report(CommandEnded)
    master.wait_for_report(AssignmentEnded)
    return end


def test_a_command_runs_in_a_copy_of_its_folder_and_its_output_is_kept_with_times(
    master, run_command
):
    master.folder.snapshot.mkdir(parents=True)
    (master.folder.snapshot / "hello.txt").write_text("from the snapshot\n")

    run_command("sh", "-c", "cat hello.txt; echo oops >&2; sleep 0.3; printf end")
    end = ended(master)

    assert (end.exit_code, end.signal, end.stopped) == (0, None, False)
    assert master.told.of(CommandStarted)[0].pid
    log = master.folder.attempt_log(0, 1)
    assert log.read_bytes() == b"from the snapshot\noops\nend"
    times = read_line_times(index_path(log))
    first, last = times.time_ms_of(18), times.time_ms_of(26)
    assert last - first >= 250
    assert times.time_ms_of(27) is None


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [("exit 7", 7, None), ("kill -TERM $$", 143, 15), ("kill -KILL $$", 137, 9)],
)
def test_an_exit_code_is_that_of_the_process_or_128_and_its_signal(
    master, run_command, script, code, number
):
    run_command("sh", "-c", script)
    end = ended(master)

    assert (end.exit_code, end.signal, end.stopped) == (code, number, False)


def test_a_command_that_cannot_be_executed_has_no_exit_code_and_says_why(master, run_command):
    run_command("no-such-command", "x")
    end = ended(master)

    assert end.exit_code is None
    assert end.reason == (
        "CannotStartContainerError: command not found: no-such-command (node n1)"
    )
    assert not master.told.of(CommandStarted)


def test_a_stopped_command_leaves_nothing_however_it_hides(master, run_command, job_processes):
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(99)"
    run_command(
        sys.executable,
        "-c",
        "import subprocess, sys, time\n"
        f"code = {stubborn!r}\n"
        "subprocess.Popen([sys.executable, '-c', code])\n"
        "hide = 'import os, subprocess, sys\\nos.setsid()\\n' + (\n"
        "    f'subprocess.Popen([sys.executable, \"-c\", {code!r}], env={{}})')\n"
        "subprocess.run([sys.executable, '-c', hide])\n"
        "print('ready', flush=True)\n"
        "time.sleep(99)\n",
    )
    log = master.folder.attempt_log(0, 1)
    node = psutil.Process(master.node.pid)
    wait_for(lambda: log.exists() and b"ready" in log.read_bytes(), "the command's children")

    def sleepers():
        found = node.children(recursive=True)
        return [one for one in found if "time.sleep(99)" in command_line(one)]

    wait_for(lambda: len(sleepers()) == 3, "three processes")
    master.order("stop", grace_seconds=0.5, reason="cancelled")
    end = ended(master)

    assert (end.exit_code, end.stopped) == (143, True)
    assert node.children(recursive=True) == []


def test_output_of_the_grace_time_belongs_to_the_log_and_the_code_is_the_commands(
    master, run_command
):
    run_command(
        "sh", "-c", "trap 'echo bye; exit 5' TERM; echo hi; while :; do sleep 0.05; done"
    )
    log = master.folder.attempt_log(0, 1)
    wait_for(lambda: log.exists() and b"hi" in log.read_bytes(), "the first line")

    master.order("stop", grace_seconds=5.0)
    end = ended(master)

    assert (end.exit_code, end.stopped) == (5, True)
    assert log.read_bytes().endswith(b"bye\n")


def test_what_a_command_leaves_behind_that_ended_by_itself_is_stopped_too(
    master, run_command, job_processes
):
    run_command("sh", "-c", "sleep 99 & exit 0", stop_grace_seconds=1)
    end = ended(master)

    assert (end.exit_code, end.stopped) == (0, False)
    assert job_processes() == []


def test_when_the_node_is_killed_its_guard_stops_the_command_and_keeps_the_end(
    master, run_command, node, job_processes
):
    run_command("sh", "-c", "trap 'exit 4' TERM; echo hi; while :; do sleep 0.05; done")
    log = master.folder.attempt_log(0, 1)
    wait_for(lambda: log.exists() and b"hi" in log.read_bytes(), "the first line")

    node.kill()

    wait_for(lambda: not job_processes(), "the end of the command")
    exit_file = master.folder.attempt_work(0, 1).parent / "exit.json"
    assert '"return_code": 4' in exit_file.read_text()


def test_a_killed_guard_is_no_success(master, run_command, job_processes):
    run_command("sleep", "99")
    master.wait_for_report(CommandStarted)
    guard = next(one for one in job_processes() if "command_guard" in command_line(one))

    guard.send_signal(signal.SIGKILL)
    end = ended(master)

    assert (end.exit_code, end.signal) == (137, 9)
    assert "guard" in end.reason


def test_a_command_that_takes_too_much_memory_is_killed_with_that_reason(master, run_command):
    run_command(
        sys.executable, "-c", "x = b'x' * (200 << 20); import time; time.sleep(60)", memory=64
    )
    end = ended(master)

    assert (end.exit_code, end.reason) == (137, OUT_OF_MEMORY)


def test_ten_megabytes_of_output_and_bytes_that_are_no_text_are_kept(master, run_command):
    run_command(
        sys.executable,
        "-c",
        "import os\nfor _ in range(160): os.write(1, b'\\xff\\x00' * 32768)\nos._exit(0)\n",
    )
    end = ended(master)

    assert end.exit_code == 0
    log = master.folder.attempt_log(0, 1)
    assert log.stat().st_size == 160 * 65536
    assert read_line_times(index_path(log)).ends[-1] == 160 * 65536


def test_the_reports_stand_in_the_journal_too(master, run_command):
    run_command("true")
    ended(master)

    kept = b"".join(master.journal())
    assert b"command_started" in kept and b"command_ended" in kept
    assert b'"samples"' not in kept


def test_when_the_node_ends_the_end_of_its_command_says_so(master, run_command, node):
    run_command("sleep", "99")
    master.wait_for_report(CommandStarted)

    node.stop()

    [end] = master.read().of(CommandEnded)
    assert (end.exit_code, end.stopped, end.reason) == (143, True, "node stopped")
