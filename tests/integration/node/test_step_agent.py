"""A node's part in a ParallelRunStep job, with real processes and a real Redis."""

from __future__ import annotations

import ast
import signal
import time
import zipfile
from pathlib import Path

import psutil

from runner.core.leases import REVOKE_SCRIPT, Lease
from runner.core.messages import (
    AssignmentEnded,
    InitFailed,
    LiveNode,
    NodeJoined,
    NodeRefused,
    ProcessEnded,
    ProcessReady,
    ProcessStarted,
    SamplesTaken,
    WarningRaised,
)
from runner.core.wire_format import wire
from tests.integration.node.conftest import command_line
from tests.integration.node.waiting import wait_for

ECHO = """
def run(mini_batch):
    return [open(path).read() for path in mini_batch]
"""


def test_every_mini_batch_is_recorded_once_and_its_rows_stand_in_the_segments(master):
    master.make_job(ECHO, files=200)
    master.make_queue(created=200)

    master.assign()
    told = master.wait_for_outcomes(200)
    master.wait_for_report(ProcessReady, count=2)  # one alone may have done all the work
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert sorted(record[0] for record in told.records) == list(range(200))
    assert {record[2] for record in told.records} == {wire.OUTCOME_SUCCEEDED}
    segments = {one.process: one.segment for one in told.of(ProcessStarted)}
    for record, process in zip(told.records, told.processes, strict=True):
        content = (master.folder.segments / segments[process]).read_bytes()
        offset, length = record[7], record[8]
        assert content[offset : offset + length] == b"%d\n" % record[0]
    assert [one.process_count for one in told.of(NodeJoined)] == [2]
    assert len(told.of(ProcessReady)) == 2
    assert {(one.end, one.expected) for one in told.of(ProcessEnded)} == {("ended", True)}
    assert master.client.hlen(master.keys.leases) == 0


def test_a_killed_process_costs_its_mini_batch_a_try_and_is_replaced(master):
    master.make_job(
        "import os, pathlib, signal, time\n"
        "def run(mini_batch):\n"
        "    mark = pathlib.Path(mini_batch[0] + '.tried')\n"
        "    if mini_batch[0].endswith('00037.txt') and not mark.exists():\n"
        "        mark.touch()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    time.sleep(0.002)\n"
        "    return list(mini_batch)\n",
        files=100,
    )
    master.make_queue(created=100)

    master.assign()
    told = master.wait_for_outcomes(100)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert told.outcomes(37) == [wire.OUTCOME_TRY_FAILED, wire.OUTCOME_SUCCEEDED]
    assert len(told.records) == 101  # what it only held went back without a try
    assert told.statuses().count("PROCESS_DIED") == 1
    assert told.errors[37, 1].kind == "signal:9"
    dead = [one for one in told.of(ProcessEnded) if not one.expected]
    assert [(one.end, one.signal) for one in dead] == [("killed by signal 9 (SIGKILL)", 9)]
    assert sorted(one.process for one in told.of(ProcessStarted)) == [0, 1, 2]


def test_a_worker_process_killed_from_outside_in_mid_run_loses_nothing(master, job_processes):
    master.make_job(
        "import time\ndef run(m):\n    time.sleep(0.02)\n    return list(m)\n",
        files=60,
    )
    master.make_queue(created=60)

    master.assign()
    master.wait_for_outcomes(10)
    next(one for one in job_processes() if "harness" in command_line(one)).kill()
    told = master.wait_for_outcomes(60)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert sorted(r[0] for r in told.records if r[2] == wire.OUTCOME_SUCCEEDED) == list(
        range(60)
    )
    assert len(told.records) in (60, 61)


def test_a_run_that_takes_too_long_is_stopped_within_half_a_second(master):
    master.make_job(
        "import time\n"
        "def run(mini_batch):\n"
        "    if mini_batch[0].endswith('3.txt'):\n"
        "        time.sleep(60)\n"
        "    return list(mini_batch)\n",
        files=6,
        run_invocation_timeout=0.7,
    )
    master.max_try = 1
    master.make_queue(created=6)

    master.assign()
    told = master.wait_for_outcomes(6)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert told.outcomes(3) == [wire.OUTCOME_TRY_FAILED]
    record = next(one for one in told.records if one[0] == 3)
    assert wire.STATUS_NAMES[record[3]] == "RUN_TIMEOUT"
    assert 0.7e6 <= record[12] < 1.2e6  # run, us
    assert told.errors[3, 1].kind == "timeout:run_invocation_timeout"
    assert "score.py" in told.errors[3, 1].traceback  # the stack it was in


def test_a_script_that_leaves_by_exit_is_told_with_its_code(master):
    master.make_job(
        "import os\n"
        "def run(mini_batch):\n"
        "    if mini_batch[0].endswith('2.txt'):\n"
        "        os._exit(3)\n"
        "    return list(mini_batch)\n",
        files=5,
    )
    master.max_try = 2
    master.make_queue(created=5)

    master.assign()
    told = master.wait_for_outcomes(5)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert told.outcomes(2) == [wire.OUTCOME_TRY_FAILED] * 2
    assert {told.errors[2, number].kind for number in (1, 2)} == {"exit:3"}
    dead = [one for one in told.of(ProcessEnded) if not one.expected]
    assert [(one.end, one.exit_code) for one in dead] == [("exit code 3", 3)] * 2


def test_init_that_fails_again_and_again_makes_the_node_leave_the_job(master):
    master.make_job("def init():\n    raise OSError('no model')\ndef run(m):\n    return []\n")
    master.make_queue(created=1)

    master.assign(process_count=1)
    told = master.told
    [refused] = master.wait_for_report(NodeRefused)
    master.wait_for_report(AssignmentEnded)

    assert refused.cause == "init_failed"
    assert len(told.of(InitFailed)) == 3
    assert told.of(InitFailed)[0].error["message"] == "no model"
    assert told.records == []


def test_a_process_that_dies_in_init_counts_as_a_failed_init(master):
    master.make_job("import os\ndef init():\n    os._exit(7)\ndef run(m):\n    return []\n")
    master.make_queue(created=1)

    master.assign(process_count=1)
    [failed, *_] = master.wait_for_report(InitFailed)
    master.order("stop", grace_seconds=1.0)
    master.wait_for_report(AssignmentEnded)

    assert failed.error["kind"] == "exit:7"
    assert not failed.invalid_script


def test_an_invalid_script_is_told_once_per_process_and_nothing_more_is_started(master):
    master.make_job("def run(:\n")
    master.make_queue(created=1)

    master.assign()
    failed = master.wait_for_report(InitFailed, count=2)
    master.order("stop")
    master.wait_for_report(AssignmentEnded)

    assert all(one.invalid_script for one in failed)
    assert len(master.told.of(ProcessStarted)) == 2


def test_a_stop_leaves_nothing_also_not_children_that_ignore_sigterm(master, job_processes):
    master.make_job(
        "import subprocess, sys, time\n"
        "CODE = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(99)'\n"
        "def run(mini_batch):\n"
        "    subprocess.Popen([sys.executable, '-c', CODE])\n"
        "    subprocess.Popen([sys.executable, '-c', CODE], start_new_session=True, env={})\n"
        "    time.sleep(99)\n",
        files=2,
        run_invocation_timeout=600,
    )
    master.make_queue(created=2)
    node = psutil.Process(master.node.pid)

    master.assign()

    def sleepers():
        return [
            one for one in node.children(recursive=True) if "sleep(99)" in command_line(one)
        ]

    wait_for(lambda: len(sleepers()) == 4, "the script's children")
    master.order("stop", grace_seconds=0.5, reason="cancelled")
    master.wait_for_report(AssignmentEnded)

    assert node.children(recursive=True) == []
    assert set(master.told.statuses()) == {"STOPPED"}


def test_a_stopped_job_lets_an_idle_process_shut_down_and_ends_a_busy_one(master):
    master.make_job(
        "import time\n"
        "from azureml_user.parallel_run import EntryScript\n"
        "def run(mini_batch):\n"
        "    time.sleep(60)\n"
        "def shutdown():\n"
        "    (EntryScript().output_dir / ('shut-' + EntryScript().agent_name)).touch()\n",
        files=1,
    )
    master.make_queue(created=1)
    master.assign()
    is_running = "a process in run() and one that waits"

    def one_runs_and_one_waits() -> bool:
        value = master.client.get(master.keys.live("n1"))
        live = LiveNode.from_json(value).processes if value else ()
        return sorted(one.phase for one in live) == ["idle", "run"]

    wait_for(one_runs_and_one_waits, is_running)
    master.order("stop", grace_seconds=5.0, reason="too many failures")
    master.wait_for_report(AssignmentEnded)

    assert len(list(master.folder.output.glob("shut-*"))) == 1
    ends = sorted(one.end for one in master.told.of(ProcessEnded))
    assert ends == ["ended", "killed by signal 15 (SIGTERM)"]


def test_the_end_of_the_node_stops_the_assignment_and_gives_back_what_it_held(master, node):
    master.make_job(
        "import time\n"
        "def run(mini_batch):\n"
        "    open(mini_batch[0] + '.begun', 'w').close()\n"
        "    time.sleep(30)\n",
        files=9,
        run_invocation_timeout=600,
    )
    master.make_queue(created=9)

    master.assign()
    begun = (master.folder.root / "input").glob
    wait_for(lambda: len(list(begun("*.begun"))) == 2, "two mini-batches begun")
    node.stop()
    told = master.read()

    assert told.statuses() == ["NODE_LOST"] * 2
    assert told.of(AssignmentEnded)
    assert master.client.hlen(master.keys.leases) == 0


def test_a_node_started_again_ends_what_its_killed_start_left_behind(
    master, node, job_processes
):
    master.make_job(
        "import subprocess, time\n"
        "def run(mini_batch):\n"
        "    subprocess.Popen(['sleep', '99'], start_new_session=True)\n"
        "    time.sleep(99)\n",
        files=2,
        run_invocation_timeout=600,
    )
    master.make_queue(created=2)
    master.assign()
    wait_for(lambda: len(job_processes()) == 4, "the processes of the job")

    node.kill()
    node.start()

    assert job_processes() == []


def test_a_wiped_redis_loses_nothing_and_what_is_held_is_adopted(master):
    master.make_job(
        "import time\ndef run(mini_batch):\n    time.sleep(1.5)\n    return list(mini_batch)\n",
        files=6,
    )
    master.make_queue(created=6)
    master.assign()
    master.wait_for_outcomes(2)
    wait_for(lambda: master.client.hlen(master.keys.leases) == 2, "two leases")

    master.client.flushall()
    master.client.hset(
        master.keys.queue,
        mapping={
            "epoch": "e2",
            "next": 6,
            "created": 6,
            "processes": 2,
            "paused": "1",
            "closed": "",
        },
    )
    master.order("wake")
    adopted = wait_for(lambda: master.client.hvals(master.keys.leases), "adopted leases")
    held = {Lease.parse(f"0 {value.decode()}").range.first for value in adopted}
    # as the master role does: the journal is read, and the rest goes back
    for report in master.journal():
        master.client.rpush(master.keys.reports, report)
    known = held | {record[0] for record in master.read().records}
    for index in set(range(6)) - known:
        master.client.rpush(master.keys.back, f"{index} 1 1")
    master.client.hset(master.keys.queue, "paused", "")
    told = master.wait_for_outcomes(6)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert {record[0] for record in told.records} == set(range(6))
    assert {record[2] for record in told.records} == {wire.OUTCOME_SUCCEEDED}
    assert master.client.hlen(master.keys.leases) == 0


def test_processes_go_on_while_redis_hangs_and_their_reports_follow(master, server):
    master.make_job(
        "import time\ndef run(m):\n    time.sleep(0.01)\n    return list(m)\n",
        files=300,
    )
    master.make_queue(created=300)
    master.assign()
    master.wait_for_outcomes(20)

    server.process.send_signal(signal.SIGSTOP)
    time.sleep(6)  # longer than the node waits for an answer: it is in doubt then
    server.process.send_signal(signal.SIGCONT)
    told = master.wait_for_outcomes(300)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    succeeded = {r[0] for r in told.records if r[2] == wire.OUTCOME_SUCCEEDED}
    assert succeeded == set(range(300))
    assert master.client.hlen(master.keys.leases) == 0


def test_a_revoked_node_stops_at_once(master, job_processes):
    master.make_job(
        "import time\ndef run(m):\n    time.sleep(0.2)\n    return list(m)\n", files=50
    )
    master.make_queue(created=50)
    master.assign()
    master.wait_for_outcomes(2)

    master.client.eval(REVOKE_SCRIPT, 2, master.keys.leases, master.keys.revoked, "1")
    master.wait_for_report(AssignmentEnded)

    assert job_processes() == []


def test_an_assignment_of_an_earlier_start_or_delivered_twice_is_refused(master, node):
    master.make_job(ECHO, files=1)
    master.make_queue(created=1)

    master.assign(boot_id="0123456789abcdef")
    master.assign(number=2)
    master.wait_for_outcomes(1)
    master.order("end", assignment=2)
    master.wait_for_report(AssignmentEnded)
    master.assign(number=2)

    wait_for(lambda: node.log.read_text().count("assignment not run here") == 2, "two refusals")
    assert len(master.read().of(NodeJoined)) == 1


def test_the_page_sees_what_each_process_does(master):
    master.make_job(
        "import time\ndef run(m):\n    time.sleep(3)\n    return list(m)\n", files=2
    )
    master.make_queue(created=2)
    master.assign()

    def running():
        value = master.client.get(master.keys.live("n1"))
        live = LiveNode.from_json(value) if value else None
        return live and [one for one in live.processes if one.phase == "run"]

    processes = wait_for(
        lambda: len(running() or ()) == 2 and running(), "two running processes"
    )
    master.order("stop", grace_seconds=0.5)
    master.wait_for_report(AssignmentEnded)

    assert {one.mini_batch for one in processes} == {0, 1}
    assert all(one.rss_bytes for one in processes)
    assert master.told.of(SamplesTaken)
    for name in (
        "node_resource_usage.csv",
        "processes_resource_usage.csv",
        "node_disk_usage.csv",
    ):
        assert (master.folder.perf("n1") / name).read_text().startswith("Utc Time,")


def test_the_work_folder_is_a_copy_whose_outputs_and_logs_are_kept(master):
    master.make_job(
        "import os, pathlib\n"
        "def run(mini_batch):\n"
        "    pathlib.Path('outputs/mine.txt').write_text('kept')\n"
        "    pathlib.Path('logs/mine.txt').write_text('kept')\n"
        "    return [repr(sorted(os.environ.items()))]\n",
        files=1,
        environment_variables={"COLOUR": "red", "PRSWEB_JOB_ID": "stolen"},
    )
    master.make_queue(created=1)
    master.assign(process_count=1)
    master.wait_for_outcomes(1)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert (master.folder.output / "mine.txt").read_text() == "kept"
    assert (master.folder.user_logs / "mine.txt").read_text() == "kept"
    [segment] = master.folder.segments.glob("n1-process000-????????")
    environment = dict(ast.literal_eval(segment.read_text()))
    assert environment["COLOUR"] == "red"
    assert environment["PRSWEB_JOB_ID"] == master.job_id
    assert environment["PRSWEB_PROCESS"] == "process000"
    assert environment["PRSWEB_WORK_DIR"] == str(master.folder.node_work("n1"))
    assert "PRSWEB_REDIS_URL" not in environment
    assert "CUDA_VISIBLE_DEVICES" not in environment


def test_each_process_has_one_gpu_as_long_as_there_are_any(master):
    master.make_job(
        "import os, time\n"
        "def run(mini_batch):\n"
        "    time.sleep(0.2)\n"
        "    return [os.environ.get('CUDA_VISIBLE_DEVICES', 'none')]\n",
        files=9,
    )
    master.make_queue(created=9, processes=3)

    master.assign(process_count=3, gpus=2)
    master.wait_for_outcomes(9)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    started = {one.process: one.gpu for one in master.told.of(ProcessStarted)}
    assert started == {0: 0, 1: 1, 2: None}
    rows = {
        path.name[3:13]: set(path.read_text().split())
        for path in master.folder.segments.glob("n1-process???-????????")
    }
    assert rows == {"process000": {"0"}, "process001": {"1"}, "process002": {"none"}}


def test_shutdown_is_called_and_its_failure_is_a_warning(master):
    master.make_job(ECHO + "\ndef shutdown():\n    raise RuntimeError('too late')\n", files=2)
    master.make_queue(created=2)
    master.assign(process_count=1)
    master.wait_for_outcomes(2)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    assert any("too late" in one.text for one in master.told.of(WarningRaised))


def test_an_interpreter_that_is_not_there_makes_the_node_leave_the_job(master):
    master.make_job(ECHO, files=1, environment={"python": "/no/such/python"})
    master.make_queue(created=1)

    master.assign()
    [refused] = master.wait_for_report(NodeRefused)
    master.wait_for_report(AssignmentEnded)

    assert refused.cause == "environment_failed"
    assert "/no/such/python" in refused.reason


def test_an_interpreter_that_cannot_be_executed_makes_the_node_leave_the_job(master, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    master.make_job(ECHO, files=1, environment={"python": str(broken)})
    master.make_queue(created=1)

    master.assign()
    [refused] = master.wait_for_report(NodeRefused)
    master.wait_for_report(AssignmentEnded)

    assert refused.cause == "environment_failed"


def make_wheel(folder: Path) -> Path:
    """A package ``greeting`` that pip can install without any index."""
    wheel = folder / "greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("greeting.py", "TEXT = 'hello'\n")
        archive.writestr(
            "greeting-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        )
        archive.writestr(
            "greeting-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("greeting-1.0.dist-info/RECORD", "")
    return wheel


def test_an_environment_is_built_for_the_requirements_and_kept(master, tmp_path):
    master.make_job(
        "import greeting, sys\ndef run(m):\n    return [greeting.TEXT + ' ' + sys.prefix]\n",
        files=1,
        environment={"requirements": [str(make_wheel(tmp_path))]},
    )
    master.make_queue(created=1)

    master.assign(process_count=1)
    master.wait_for_outcomes(1, seconds=60)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    [segment] = master.folder.segments.glob("n1-process000-????????")
    text, prefix = segment.read_text().split()
    assert text == "hello"
    assert prefix.startswith(str(master.node.home.environments))
    assert (Path(prefix) / "ready").exists()


def test_a_failed_build_is_told_with_its_last_lines_and_not_kept(master, tmp_path):
    master.make_job(
        ECHO,
        files=1,
        environment={"requirements": [str(tmp_path / "none-1.0-py3-none-any.whl")]},
    )
    master.make_queue(created=1)

    master.assign()
    [refused] = master.wait_for_report(NodeRefused, seconds=60)
    master.wait_for_report(AssignmentEnded)

    assert refused.cause == "environment_failed"
    assert "none-1.0" in refused.reason
    assert not list(master.node.home.environments.glob("*/ready"))


def test_a_crash_is_told_with_what_the_interpreter_wrote_about_it(master):
    master.make_job(
        "import ctypes\ndef run(m):\n    ctypes.string_at(0)\n",
        files=1,
    )
    master.max_try = 1
    master.make_queue(created=1)

    master.assign(process_count=1)
    told = master.wait_for_outcomes(1)
    master.order("end")
    master.wait_for_report(AssignmentEnded)

    error = told.errors[0, 1]
    assert error.kind == "signal:11"
    assert "Fatal Python error" in error.traceback
