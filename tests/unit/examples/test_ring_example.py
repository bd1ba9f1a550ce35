from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DEADLINE_SECONDS = 60


class RingJob:
    """Real processes on addresses of this machine, with the variables of a multi-node job."""

    def __init__(self, script: Path, folder: Path, node_count: int, main_index: int) -> None:
        self._script = script
        self._folder = folder
        self._main_index = main_index
        self._addresses = [f"127.0.1.{201 + index}" for index in range(node_count)]
        self._host_file = folder / "hostfile"
        self._host_file.write_text("".join(f"{one} slots=1\n" for one in self._addresses))
        self._port = free_port(self._addresses[0])
        self.processes: dict[int, subprocess.Popen[str]] = {}

    def start(self, index: int, *options: str) -> subprocess.Popen[str]:
        self.processes[index] = subprocess.Popen(
            [sys.executable, str(self._script), "--port", str(self._port), *options],
            env=self.environment(index),
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self.processes[index]

    def environment(self, index: int) -> dict[str, str]:
        variables = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(self._folder),
            "AWS_BATCH_JOB_NODE_INDEX": str(index),
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(self._main_index),
            "AWS_BATCH_JOB_NUM_NODES": str(len(self._addresses)),
            "PRSWEB_NODE_ADDRESS": self._addresses[index],
            "PRSWEB_HOSTFILE": str(self._host_file),
        }
        if index != self._main_index:
            main_address = self._addresses[self._main_index]
            variables["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = main_address
        return variables

    def end(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=DEADLINE_SECONDS)


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


MakeJob = Callable[..., RingJob]


@pytest.fixture
def make_ring(examples: Path, tmp_path: Path) -> Iterator[MakeJob]:
    made: list[RingJob] = []

    def make(node_count: int, main_index: int = 0) -> RingJob:
        made.append(RingJob(examples / "ring" / "ring.py", tmp_path, node_count, main_index))
        return made[-1]

    yield make
    for job in made:
        job.end()


@pytest.mark.parametrize(("node_count", "main_index"), [(1, 0), (2, 0), (3, 0), (3, 1)])
def test_the_token_goes_round_all_nodes(
    make_ring: MakeJob, node_count: int, main_index: int
) -> None:
    job = make_ring(node_count, main_index)
    children = [index for index in range(node_count) if index != main_index]

    main = job.start(main_index, "--rounds", "50")
    for index in children:
        job.start(index)
    printed, complaint = main.communicate(timeout=DEADLINE_SECONDS)

    assert (main.returncode, complaint) == (0, "")
    ring_sum = 50 * sum(range(node_count))
    assert f"sum {ring_sum} after 50 rounds of {node_count} nodes" in printed
    assert "microseconds per hop" in printed
    for index in children:
        told, _ = job.processes[index].communicate(timeout=DEADLINE_SECONDS)
        assert f"node {index} passed the token 50 times" in told
        assert job.processes[index].returncode == 0


def test_every_child_has_its_own_end_before_the_main_node_ends(
    make_ring: MakeJob, tmp_path: Path
) -> None:
    job = make_ring(3)
    make_python_end_slowly(tmp_path)

    main = job.start(0, "--rounds", "5")
    children = [job.start(1), job.start(2)]
    main.wait(timeout=DEADLINE_SECONDS)
    for child in children:  # what an agent does as soon as the main node has ended
        child.send_signal(signal.SIGTERM)

    assert [child.wait(timeout=DEADLINE_SECONDS) for child in children] == [0, 0]


def make_python_end_slowly(folder: Path) -> None:
    """So that a main node that does not wait for its children's end ends before them."""
    (folder / "sitecustomize.py").write_text(
        "import atexit, os, time\n"
        "is_main = 'AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS' not in os.environ\n"
        "atexit.register(time.sleep, 0 if is_main else 0.4)\n"
    )


def test_a_node_that_does_not_come_is_named(make_ring: MakeJob) -> None:
    job = make_ring(2)

    main = job.start(0, "--gather_seconds", "0.2")
    _, complaint = main.communicate(timeout=DEADLINE_SECONDS)

    assert main.returncode == 1
    assert complaint == (
        "The ring is broken: node 1 did not come within 0.2 s; look at its log\n"
    )


def test_a_node_that_dies_ends_the_ring_on_every_other(make_ring: MakeJob) -> None:
    job = make_ring(3)

    main = job.start(0, "--rounds", "100000000")
    children = [job.start(1), job.start(2)]
    wait_until_closed(main)
    children[0].kill()
    endings = [
        (process.communicate(timeout=DEADLINE_SECONDS)[1], process.returncode)
        for process in (main, children[1])
    ]

    for complaint, status in endings:
        assert status == 1
        assert complaint.startswith("The ring is broken: ")
        assert complaint.count("\n") == 1


def wait_until_closed(main: subprocess.Popen[str]) -> None:
    """Returns when the main node has said that it is connected on both sides."""
    assert main.stdout is not None
    for line in main.stdout:
        if "is closed" in line:
            return
    raise AssertionError("the main node ended before the ring was closed")


def test_outside_a_job_the_missing_variable_is_named(examples: Path) -> None:
    found = subprocess.run(
        [sys.executable, str(examples / "ring" / "ring.py")],
        env={},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )

    assert found.returncode == 1
    assert "AWS_BATCH_JOB_NODE_INDEX" in found.stderr
    assert "Traceback" not in found.stderr
