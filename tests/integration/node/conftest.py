"""A real Redis, a real node process, and a master role's part played by the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from prsweb.cli.up.redis_server import find_server_binary
from runner.celery import app
from runner.core import redis_keys
from runner.core.blocks import Record, is_block, parse_block
from runner.core.error_groups import CaughtError
from runner.core.journal import read_reports
from runner.core.layout import Home, JobFolder
from runner.core.messages import Assignment, Order, Report, StampedBeat, parse_report
from runner.core.redis_keys import JobKeys
from runner.core.redis_url import broker_url
from runner.core.task_names import RUN_ASSIGNMENT_TASK, node_queue
from runner.core.wire_format import wire
from tests.integration.node.waiting import wait_for

PROJECT = Path(__file__).resolve().parents[3]
JOB_ID = "9f1c2b7e-0000-4000-8000-000000000001"


@dataclass
class Server:
    """A Redis server of the test's own, on a socket."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.folder / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    @property
    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        options = ["--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir"]
        self.process = subprocess.Popen(
            [str(find_server_binary()), *options, str(self.folder)],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for(self._answers, "an answer of Redis")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


@pytest.fixture
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="prs-test-") as folder:
        server = Server(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@dataclass
class NodeProcess:
    """``python -m runner.node.main``, as ``prs up`` starts it."""

    server: Server
    home: Home
    log: Path
    name: str = "n1"
    process: subprocess.Popen[bytes] | None = None
    settings: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        before = self._beat()
        environment = os.environ | {
            "PRSWEB_HOME": str(self.home.root),
            "PRSWEB_REDIS_URL": self.server.url,
            "PRSWEB_NODE_NAME": self.name,
            "PRSWEB_NODE_ADDRESS": "127.0.1.1",
            "PRSWEB_NODE_VCPUS": "1",
            "TMPDIR": str(self.server.folder),  # a killed node leaves its own there
            **self.settings,
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "runner.node.main"],
                cwd=PROJECT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        wait_for(lambda: self._beat() not in (None, before), "a beat")

    def _beat(self) -> str | None:
        value = self.server.client.get(redis_keys.node_beat(self.name))
        return StampedBeat.parse(value).beat.boot_id if value else None

    @property
    def boot_id(self) -> str:
        boot_id = self._beat()
        assert boot_id
        return boot_id

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def ask_to_end(self) -> None:
        assert self.process
        self.process.terminate()

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
            pytest.fail("the node did not end\n" + self.log.read_text())

    def kill(self) -> None:
        """As a crash: nothing of its own code runs any more."""
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(5)


def marked_processes(**marks: str) -> list[psutil.Process]:
    """The processes whose environment has the marks, zombies left out."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            is_dead = process.status() == psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        if not is_dead and all(environment.get(name) == value for name, value in marks.items()):
            found.append(process)
    return found


def command_line(process: psutil.Process) -> str:
    """The command, "" for a process that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture
def job_processes() -> Iterator[Callable[[], list[psutil.Process]]]:
    """Return what gives the job's processes; after the test none may be left."""

    def find() -> list[psutil.Process]:
        return marked_processes(PRSWEB_JOB_ID=JOB_ID)

    yield find
    left = find()
    for process in left:
        process.kill()
    assert not left, f"processes left: {left}"


@pytest.fixture
def node(server: Server, tmp_path: Path, job_processes: Any) -> Iterator[NodeProcess]:
    home = Home(tmp_path / "home")
    home.jobs.mkdir(parents=True)
    node = NodeProcess(server, home, tmp_path / "node.log")
    node.start()
    try:
        yield node
    finally:
        node.stop()
        sys.stderr.write(node.log.read_text())


@dataclass
class Told:
    """What the node has told about one job, as the recorder would read it."""

    records: list[Record] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)  # of each record
    errors: dict[tuple[int, int], CaughtError] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)

    def of(self, kind: type[Report]) -> list[Any]:
        return [report for report in self.reports if isinstance(report, kind)]

    def outcomes(self, index: int) -> list[int]:
        return [record[2] for record in self.records if record[0] == index]

    def statuses(self) -> list[str]:
        return [wire.STATUS_NAMES[record[3]] for record in self.records]


class Master:
    """Plays the master role: makes the queue and the manifest, reads the reports,
    puts failed tries back."""

    def __init__(self, node: NodeProcess, job_id: str = JOB_ID) -> None:
        self.node = node
        self.keys = JobKeys(job_id)
        self.job_id = job_id
        self.folder: JobFolder = node.home.job(job_id)
        self.told = Told()
        self.max_try = 3
        self.client = node.server.client

    def make_job(self, script: str, *, files: int = 0, **spec: Any) -> None:
        """Make the folder: snapshot with ``score.py``, one file a mini-batch."""
        for path in (self.folder.snapshot, self.folder.manifest, self.folder.root / "input"):
            path.mkdir(parents=True, exist_ok=True)
        (self.folder.snapshot / "score.py").write_text(script)
        self.write_spec(
            entry_script="score.py",
            inputs=[
                {"name": "scans", "type": "files", "path": str(self.folder.root / "input")}
            ],
            output_action="append_row",
            **spec,
        )
        with (
            self.folder.manifest_items.open("wb") as items,
            self.folder.manifest_index.open("wb") as index,
        ):
            for number in range(files):
                path = self.folder.root / "input" / f"{number:05d}.txt"
                path.write_text(str(number))
                items.write(os.fsencode(path))
                index.write(wire.MANIFEST_INDEX_RECORD.pack(items.tell(), 1, 0))

    def write_spec(self, **spec: Any) -> None:
        self.folder.root.mkdir(parents=True, exist_ok=True)
        self.folder.spec.write_text(json.dumps({"kind": "parallel_run_step", **spec}))

    def make_queue(self, *, created: int, processes: int = 2, epoch: str = "e1") -> None:
        self.client.hset(
            self.keys.queue,
            mapping={
                "epoch": epoch,
                "next": 0,
                "created": created,
                "processes": processes,
                "paused": "",
                "closed": "",
            },
        )

    def assign(self, **fields: Any) -> None:
        """Send an assignment as the scheduler does."""
        defaults = {
            "job_id": self.job_id,
            "job_number": 1,
            "kind": "parallel_run_step",
            "attempt": 1,
            "number": 1,
            "node_name": self.node.name,
            "node_index": 0,
            "boot_id": self.node.boot_id,
            "folder": str(self.folder.root),
            "node_count": 1,
            "process_count": 2,
        }
        assignment = Assignment(**(defaults | fields))
        # As prsweb/jobs/dispatch.py does, with the application of runner.celery.
        with app.connection_for_write(url=broker_url(self.node.server.url)) as connection:
            app.send_task(
                RUN_ASSIGNMENT_TASK,
                args=[assignment.to_dict()],
                queue=node_queue(self.node.name),
                connection=connection,
                ignore_result=True,
            )

    def order(self, action: str, *, assignment: int = 1, **fields: Any) -> None:
        self.client.rpush(self.keys.control(assignment), Order(action, **fields).to_json())

    def journal(self, assignment: int = 1) -> list[bytes]:
        with self.folder.journal(self.node.name, assignment).open("rb") as file:
            return list(read_reports(file))

    def read(self) -> Told:
        """Take what stands in the report list; put failed tries back."""
        while True:
            report = self.client.lpop(self.keys.reports)
            if report is None:
                return self.told
            if is_block(report):
                self._take_block(report)
            else:
                self.told.reports.append(parse_report(report))

    def _take_block(self, report: bytes) -> None:
        block = parse_block(report)
        for record in block.records():
            self.told.records.append(record)
            self.told.processes.append(block.process)
            index, try_number, outcome, status = record[:4]
            if status == wire.STOPPED or outcome != wire.OUTCOME_TRY_FAILED:
                continue
            if try_number < self.max_try:
                self.client.rpush(self.keys.back, f"{index} 1 {try_number + 1}")
                self.order("wake")
        self.told.errors.update(block.errors())

    def wait_for_outcomes(self, count: int, *, seconds: float = 30.0) -> Told:
        """Wait until ``count`` mini-batches have their final outcome."""

        def is_done() -> bool:
            final = {
                record[0]
                for record in self.read().records
                if record[2] != wire.OUTCOME_TRY_FAILED or record[1] >= self.max_try
            }
            return len(final) >= count

        wait_for(is_done, f"{count} outcomes", seconds=seconds)
        return self.told

    def wait_for_report(
        self, kind: type[Report], *, count: int = 1, seconds: float = 20.0
    ) -> Any:
        """Return the reports of this kind, once there are ``count``."""
        wait_for(
            lambda: len(self.read().of(kind)) >= count,
            f"{count} reports {kind.__name__}",
            seconds=seconds,
        )
        return self.told.of(kind)


@pytest.fixture
def master(node: NodeProcess) -> Master:
    return Master(node)
