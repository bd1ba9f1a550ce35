"""A real Redis, and nodes played by the test: they lease, report, beat and fall silent."""

from __future__ import annotations

import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis
from django.utils import timezone

from prsweb.cli.up.redis_server import find_server_binary
from prsweb.jobs.models import Job, JobNode, Node
from prsweb.jobs.services import scheduling
from prsweb.jobs.services.master_lease import take_master_lease
from runner.core.layout import Home, JobFolder
from runner.core.leases import (
    ADOPT_SCRIPT,
    BEAT_SCRIPT,
    EXCHANGE_SCRIPT,
    Exchange,
    ExchangeAnswer,
    Lease,
    parse_exchange_answer,
)
from runner.core.messages import (
    AssignmentEnded,
    NodeBeat,
    NodeJoined,
    ProcessReady,
    ProcessStarted,
    Report,
)
from runner.core.redis_keys import NODES, JobKeys, node_beat
from runner.harness import wire
from runner.orchestrator.step_master import StepMaster


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A server of the tests' own, on a socket."""
    with tempfile.TemporaryDirectory(prefix="prs-test-") as folder:
        socket = Path(folder) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder]
        server = subprocess.Popen(
            [str(find_server_binary()), *options],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_for_server(f"unix://{socket}?db=0")
            yield f"unix://{socket}?db=0"
        finally:
            server.kill()
            server.wait(10)


def _wait_for_server(url: str) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            redis.Redis.from_url(url).ping()
        except redis.ConnectionError:
            time.sleep(0.02)
        else:
            return
    pytest.fail("Redis did not answer within 20 s")


@pytest.fixture
def client(redis_url: str, settings: Any) -> Iterator[redis.Redis]:
    """The server, empty."""
    settings.PRSWEB_REDIS_URL = redis_url
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    yield client
    client.close()


def record(
    index: int,
    *,
    try_number: int = 1,
    status: int = wire.RUN_DONE,
    items: int = 2,
    succeeded: int | None = None,
    offset: int = 0,
    length: int = 0,
    started_us: int | None = None,
) -> tuple[int, ...]:
    """A try as a worker process packs it; a good one unless ``status`` says otherwise."""
    done = (items if succeeded is None else succeeded) if status == wire.RUN_DONE else 0
    outcome = wire.OUTCOME_SUCCEEDED if done == items else wire.OUTCOME_PARTIAL
    if status != wire.RUN_DONE:
        outcome = wire.OUTCOME_TRY_FAILED
    started = 1_700_000_000_000_000 + index if started_us is None else started_us
    return (
        *(index, try_number, outcome, status, items, done, done, offset, length),
        *(started, 10, 20, 300, 400),
    )


def error_of(index: int, message: str, *, try_number: int = 1) -> dict[str, Any]:
    return {
        "index": index,
        "try": try_number,
        "kind": "exception",
        "types": ["ValueError"],
        "message": message,
        "frames": [["/w/score.py", "score", "run", 42, "x = 1 / 0", True]],
        "traceback": f"Traceback\nValueError: {message}",
        "digest": "abc",
    }


@dataclass
class PlayedNode:
    """A node and its one worker process, as the master role meets them."""

    client: redis.Redis
    job: Job
    folder: JobFolder
    job_node: JobNode
    epoch: str = ""
    process: int = 0
    held: list[Lease] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keys = JobKeys(self.job.job_id)
        self.segment = f"{self.job_node.node_name}-process000-{self.job_node.assignment}"
        self.folder.segments.mkdir(parents=True, exist_ok=True)
        self.size = 0

    @property
    def head(self) -> dict[str, Any]:
        return {
            "assignment": self.job_node.assignment,
            "node_index": self.job_node.index,
            "at": time.time(),
        }

    def beat(self, *, boot_id: str | None = None, assignment: bool = True) -> None:
        beat = NodeBeat(
            name=self.job_node.node_name,
            boot_id=boot_id or self.job_node.boot_id,
            address="127.0.1.1",
            host="here",
            location="here",
            environment=None,
            instance_type=None,
            vcpus=1,
            memory_mib=1024,
            gpus=0,
            version="0.1.0",
            started_at=time.time(),
            assignment=self.job_node.assignment if assignment else None,
            job_id=self.job.job_id if assignment else None,
        )
        keys = (node_beat(beat.name), NODES)
        self.client.eval(BEAT_SCRIPT, 2, *keys, beat.name, beat.to_json())

    def exchange(self, exchange: Exchange) -> ExchangeAnswer:
        self._keep(exchange.reports)
        keys = self.keys
        answer = self.client.eval(
            EXCHANGE_SCRIPT,
            6,
            *(keys.queue, keys.back, keys.leases, keys.revoked, keys.reports, keys.wake),
            *exchange.arguments(epoch=self.epoch, assignment=self.job_node.assignment),
        )
        parsed = parse_exchange_answer(answer, assignment=self.job_node.assignment)
        self.epoch = parsed.epoch
        self.held += parsed.granted
        return parsed

    def _keep(self, reports: Any) -> None:
        path = self.folder.journal(self.job_node.node_name, self.job_node.assignment)
        with path.open("ab") as journal:
            for one in reports:
                journal.write(struct.pack("<I", len(one)) + one)

    def report(self, *reports: Report) -> None:
        self.exchange(Exchange(reports=[_as_json(one) for one in reports]))

    def join(self) -> None:
        """Say that node and process are there, and init() is done."""
        self.beat()
        self.exchange(Exchange())  # learns the epoch
        self.report(
            NodeJoined(**self.head, process_count=1),
            ProcessStarted(**self.head, process=self.process, pid=1, segment=self.segment),
            ProcessReady(**self.head, process=self.process, init_seconds=0.1),
        )

    def lease(self, count: int = 1) -> Lease | None:
        granted = self.exchange(Exchange(wants=[(self.process, count)])).granted
        return granted[0] if granted else None

    def rows_of(self, index: int) -> bytes:
        return f"row of {index}\n".encode()

    def run(self, lease: Lease) -> list[tuple[int, ...]]:
        """Append the rows of a lease to the segment and return its records."""
        records = []
        with (self.folder.segments / self.segment).open("ab") as segment:
            for index in range(lease.range.first, lease.range.end):
                rows = self.rows_of(index)
                segment.write(rows)
                records.append(
                    record(
                        index,
                        try_number=lease.range.try_number,
                        offset=self.size,
                        length=len(rows),
                    )
                )
                self.size += len(rows)
        return records

    def block(
        self, records: list[tuple[int, ...]], errors: list[dict[str, Any]] | None = None
    ) -> bytes:
        node = self.job_node
        return wire.pack_block(node.assignment, node.index, self.process, records, errors or [])

    def end_lease(
        self,
        lease: Lease,
        records: list[tuple[int, ...]],
        errors: list[dict[str, Any]] | None = None,
    ) -> None:
        self.held.remove(lease)
        block = self.block(records, errors)
        self.exchange(Exchange(reports=[block], ended=[lease.lease_id]))

    def work(self) -> int:
        """Lease and end everything there is; return how many mini-batches that was."""
        done = 0
        while lease := self.lease(50):
            self.end_lease(lease, self.run(lease))
            done += lease.range.count
        return done

    def adopt(self) -> None:
        """Tell a new queue what is held."""
        epoch = self.client.hget(self.keys.queue, "epoch")
        assert epoch is not None
        told = [f"{one.lease_id} {one.process} {one.range}" for one in self.held]
        ids = self.client.eval(
            ADOPT_SCRIPT,
            2,
            *(self.keys.queue, self.keys.leases),
            *(epoch, self.job_node.assignment, *told),
        )
        self.epoch = epoch.decode()
        self.held = [
            Lease(int(new), one.assignment, one.process, one.range)
            for new, one in zip(ids, self.held, strict=True)
        ]

    def set_status(self, phase: int, index: int, try_number: int = 1) -> None:
        words = [phase << 32 | index, 0, try_number, 0, 0, 0, 0, 0]
        path = self.folder.segments / f"{self.segment}.status"
        path.write_bytes(struct.pack("=8Q", *words))

    def leave(self) -> None:
        self.report(AssignmentEnded(**self.head, reason="all is done"))


def _as_json(report: Report) -> bytes:
    return report.to_json()


@dataclass
class Play:
    """A job that was started on played nodes, and who leads it."""

    client: redis.Redis
    job: Job
    folder: JobFolder
    nodes: list[PlayedNode]

    def make_master(self) -> StepMaster:
        job, owner = take_master_lease(self.job.pk)
        return StepMaster(job, owner, self.client, threading.Event())

    def begin(self) -> StepMaster:
        """Return a master that has begun and has listed the input."""
        master = self.make_master()
        master._begin()
        self.wait_for_listing(master)
        return master

    def wait_for_listing(self, master: StepMaster) -> None:
        deadline = time.monotonic() + 20
        while master.recorder.tally.is_listing or not master.recorder.tally.created:
            assert time.monotonic() < deadline, "the listing did not end within 20 s"
            master.tick()
            time.sleep(0.005)

    def reload(self) -> Job:
        self.job.refresh_from_db()
        return self.job


@pytest.fixture
def make_play(
    make_job: Callable[..., Job],
    home: Home,
    client: redis.Redis,
    tmp_path: Path,
    sent: list[str],
    db: None,
) -> Callable[..., Play]:
    """Return ``make_play(mini_batches=…, nodes=…, **spec)``: a job over real files,
    granted to played nodes."""

    def make(*, mini_batches: int = 10, nodes: int = 1, **spec: Any) -> Play:
        data = tmp_path / "in"
        data.mkdir()
        for number in range(2 * mini_batches):
            (data / f"{number:05d}.txt").touch()
        given = {
            "inputs": [{"name": "in", "type": "files", "path": str(data)}],
            "mini_batch_size": 2,
            "node_count": nodes,
            "process_count_per_node": 1,
            "output_action": "append_row",
            "entry_script": "score.py",
        }
        job = make_job(spec=given | spec, state="RUNNABLE", node_count=nodes)
        granted = scheduling.start_job(
            job, [make_node(f"n{n + 1}") for n in range(nodes)], reason="test"
        )
        folder = home.job(job.job_id)
        played = [PlayedNode(client, job, folder, one.job_node) for one in granted]
        for one in played:
            one.beat()
        return Play(client, job, folder, played)

    return make


def make_node(name: str, **fields: Any) -> Node:
    now = timezone.now()
    defaults = {
        "boot_id": f"boot-{name}",
        "address": "127.0.1.1",
        "host": "here",
        "location": "here",
        "vcpus": 1,
        "memory_mib": 1024,
        "version": "0.1.0",
        "joined_at": now,
        "up_since": now,
        "beat_at": now,
    }
    return Node.objects.create(name=name, **(defaults | fields))
