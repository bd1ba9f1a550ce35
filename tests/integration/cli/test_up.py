"""``prs up`` for real: what it starts, what it says, and that nothing is left."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from prsweb.cli.up.leftovers import UP_MARK
from prsweb.paths import CHECKOUT
from runner.core.layout import Home

START_SECONDS = 60.0
STOP_SECONDS = 30.0

pytestmark = pytest.mark.slow


class RunningUp:
    """One ``prs up`` with its output."""

    def __init__(self, home: Home, log: Path, *arguments: str) -> None:
        self.home = home
        self.log = log
        kept = {key: value for key, value in os.environ.items() if "PRSWEB" not in key}
        self.environment = kept | {"PRSWEB_HOME": str(home.root)}
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "prsweb.cli", "up", "--port", "0", *arguments],
                env=self.environment,
                cwd=CHECKOUT,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def url(self) -> str:
        return str(json.loads(self.home.server_file.read_text())["url"])

    def prs(self, *arguments: str) -> Any:
        """Return the JSON of a command against this system."""
        done = subprocess.run(
            [sys.executable, "-m", "prsweb.cli", *arguments, "--json"],
            env=self.environment,
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)

    def parts(self) -> dict[int, str]:
        """Return pid and command line of every process that it has started."""
        found = {}
        for process in psutil.process_iter():
            try:
                environment = process.environ()
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                if UP_MARK in environment and environment["PRSWEB_HOME"] == str(self.home.root):
                    found[process.pid] = " ".join(process.cmdline())
            except (psutil.Error, OSError):
                continue
        return found

    def pid_of(self, command: str) -> int:
        [pid, *_] = [pid for pid, line in self.parts().items() if command in line]
        return pid


@pytest.fixture
def start_up(place: Home, tmp_path: Path) -> Iterator[Callable[..., RunningUp]]:
    started: list[RunningUp] = []

    def start(*arguments: str) -> RunningUp:
        up = RunningUp(place, tmp_path / f"up-{len(started)}.log", *arguments)
        started.append(up)
        return up

    yield start
    for up in started:
        if up.process.poll() is None:
            up.process.terminate()
            up.process.wait(STOP_SECONDS)


@pytest.fixture
def running(start_up: Callable[..., RunningUp], wait_until: Any) -> RunningUp:
    """A system with 2 nodes, ready."""
    up = start_up("--nodes", "2")
    wait_until(lambda: _is_ready(up), what="ready", timeout_seconds=START_SECONDS)
    return up


def _is_ready(up: RunningUp) -> bool:
    assert up.process.poll() is None, up.said
    return "2 nodes are ready" in up.said


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _nothing_is_left(up: RunningUp) -> bool:
    return up.parts() == {} and list(up.home.run.iterdir()) == []


def test_it_says_where_it_is_and_how_to_sign_in(running: RunningUp) -> None:
    assert f"prsweb runs at {running.url}" in running.said
    [link] = [word for word in running.said.split() if "/sign-in/link/" in word]
    assert link.startswith(running.url)
    assert _status(f"{running.url}healthz") == 200
    assert stat.S_IMODE(running.home.server_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(running.home.token.stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_leaves_no_process_no_socket_and_no_lock(
    running: RunningUp, number: signal.Signals
) -> None:
    running.process.send_signal(number)

    assert running.process.wait(STOP_SECONDS) == 0
    assert _nothing_is_left(running)


def test_kill_9_of_it_leaves_no_process_no_socket_and_no_lock(
    running: RunningUp, wait_until: Any
) -> None:
    running.process.kill()
    running.process.wait()

    wait_until(lambda: _nothing_is_left(running), what="all is gone", timeout_seconds=30)


JOB_THAT_LEAVES_PROCESSES = """
kind: parallel_run_step
name: leaves
inputs: [{name: files, type: files, path: inputs}]
entry_script: leaves.py
output_action: summary_only
"""
SCRIPT_THAT_LEAVES_PROCESSES = """
import os, subprocess, time
from pathlib import Path

def run(mini_batch):
    # Twice away from its parent, in a session of its own.
    subprocess.Popen(["sh", "-c", "setsid sleep 600 & echo $! >> %s"], start_new_session=True)
    time.sleep(600)
"""


def test_kill_9_of_it_leaves_no_process_of_a_job(
    running: RunningUp, tmp_path: Path, wait_until: Any
) -> None:
    pids = tmp_path / "pids"
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "a").write_text("")
    (tmp_path / "leaves.yml").write_text(JOB_THAT_LEAVES_PROCESSES)
    (tmp_path / "leaves.py").write_text(SCRIPT_THAT_LEAVES_PROCESSES % pids)
    running.prs("submit", str(tmp_path / "leaves.yml"))
    wait_until(pids.exists, what="the script runs")
    assert psutil.pid_exists(int(pids.read_text()))

    running.process.kill()
    running.process.wait()

    wait_until(lambda: _nothing_is_left(running), what="all is gone", timeout_seconds=30)
    wait_until(lambda: not _is_alive(int(pids.read_text())), what="the job's process is gone")


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_second_start_says_who_holds_the_home(
    running: RunningUp, start_up: Callable[..., RunningUp]
) -> None:
    second = start_up()

    assert second.process.wait(STOP_SECONDS) == 2
    assert f"is in use by prs up, pid {running.process.pid}" in second.said
    assert running.process.poll() is None


def test_a_killed_part_is_started_again(running: RunningUp, wait_until: Any) -> None:
    before = len(running.parts())
    parts = ("prsweb.cli.up.web", "runner.orchestrator.main", "runner.node.main", "valkey")
    for part in parts:
        pid = running.pid_of(part)

        os.kill(pid, signal.SIGKILL)

        said = f"(pid {pid}) was killed by signal 9 (SIGKILL); starting it again"
        wait_until(lambda said=said: said in running.said, what=f"{part} is said to be killed")
        wait_until(lambda: len(running.parts()) == before, what=f"{part} is there again")
        wait_until(lambda: _is_all_well(running), what=f"all is ready after {part}")


def _is_all_well(up: RunningUp) -> bool:
    try:
        return _status(f"{up.url}readyz") == 200
    except OSError:  # web is being started again
        return False


def test_it_starts_again_on_what_it_left(
    running: RunningUp, start_up: Callable[..., RunningUp], wait_until: Any
) -> None:
    token = running.home.token.read_text()
    running.process.terminate()
    running.process.wait(STOP_SECONDS)

    again = start_up("--nodes", "2")
    wait_until(lambda: _is_ready(again), what="ready again", timeout_seconds=START_SECONDS)

    assert again.home.token.read_text() == token


def test_a_new_start_ends_what_a_killed_one_and_its_watcher_left(
    running: RunningUp, start_up: Callable[..., RunningUp], wait_until: Any
) -> None:
    port = running.url.rstrip("/").rpartition(":")[2]
    watcher = psutil.Process(running.pid_of("prsweb.cli.up.watcher"))
    watcher.suspend()
    running.process.kill()
    running.process.wait()
    watcher.kill()
    left = set(running.parts()) - {watcher.pid}
    assert len(left) == 5

    again = start_up("--nodes", "2", "--port", port)
    wait_until(lambda: _is_ready(again), what="ready again", timeout_seconds=START_SECONDS)

    assert not left & set(again.parts())


def test_a_node_can_join_and_leave(running: RunningUp, tmp_path: Path, wait_until: Any) -> None:
    with (tmp_path / "node.log").open("wb") as out:
        node = subprocess.Popen(
            [sys.executable, "-m", "prsweb.cli", "node", "--name", "extra"],
            env=running.environment,
            cwd=CHECKOUT,
            stdout=out,
            stderr=subprocess.STDOUT,
        )

    def names() -> dict[str, str]:
        return {one["name"]: one["address"] for one in running.prs("nodes")["items"]}

    wait_until(lambda: "extra" in names(), what="the node has joined")
    assert names()["extra"] == "127.0.1.3"
    node.terminate()
    assert node.wait(STOP_SECONDS) == 0
    assert not (running.home.run / "node-extra.lock").exists()
