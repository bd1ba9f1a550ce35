"""A worker process on real pipes, its job folder, and what it has reported."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from runner.harness import wire

HARNESS = Path(wire.__file__).parent / "__main__.py"
WAIT_SECONDS = 30.0


class Frame(NamedTuple):
    kind: int
    lease_id: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Record(NamedTuple):
    """One try, in the order of wire.RECORD."""

    index: int
    try_number: int
    outcome: int
    status: int
    items: int
    succeeded: int
    results: int
    offset: int
    length: int
    started_us: int
    wait_us: int
    load_us: int
    run_us: int
    total_us: int


@dataclass
class Block:
    is_final: bool
    assignment: int
    node_index: int
    process: int
    records: list[Record]
    errors: list[dict[str, Any]]


def unpack_block(body: bytes) -> Block:
    head = wire.BLOCK_HEAD.size
    magic, final, assignment, node, process, count, errors = wire.BLOCK_HEAD.unpack_from(body)
    assert magic == wire.BLOCK_MAGIC
    end = head + count * wire.RECORD.size
    assert len(body) == end + errors
    records = [Record(*one) for one in wire.RECORD.iter_unpack(body[head:end])]
    told = json.loads(body[end:]) if errors else []
    return Block(bool(final), assignment, node, process, records, told)


@dataclass
class WorkerProcess:
    """Write the inputs, ``start``, then ``lease`` and ``end`` as the node agent does."""

    folder: Path
    python: str = sys.executable
    config: dict[str, Any] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    control_fd: int = -1
    report_fd: int = -1
    _held: bytes = b""

    def __post_init__(self) -> None:
        for name in ("work", "output", "manifest", "segments", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        logs = self.folder / "logs"
        self.config = {
            "job_id": "7f3a",
            "folder": str(self.folder),
            "node_name": "n1",
            "node_index": 1,
            "node_address": "127.0.1.2",
            "process": 3,
            "assignment": 5,
            "work_dir": str(self.folder / "work"),
            "entry_script": "score.py",
            "output_folder": str(self.folder / "output"),
            "system_log": str(logs / "sys.txt"),
            "user_stdout": str(logs / "stdout.txt"),
            "user_stderr": str(logs / "stderr.txt"),
            "user_error": str(logs / "error.txt"),
            "entry_script_log": str(logs / "entry.log.txt"),
            "log_dir": str(logs / "entry"),
            "segment": str(self.folder / "segments" / "n1-process003-ab"),
            "status_file": str(self.folder / "segments" / "n1-process003-ab.status"),
            "manifest_items": str(self.folder / "manifest" / "items"),
            "manifest_index": str(self.folder / "manifest" / "index"),
            "inputs": [{"name": "scans", "kind": "files", "path": "/data/scans"}],
            "output": {"format": "text"},
        } | self.config
        self.write_mini_batches([])

    # --- before the start ---

    def write_script(self, source: str, name: str = "score.py") -> None:
        path = self.folder / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)

    def write_files(self, *mini_batches: Sequence[str]) -> None:
        """Make the manifest of mini-batches of file paths."""
        self.write_mini_batches(
            [(os.fsencode("\0".join(paths)), len(paths)) for paths in mini_batches]
        )

    def write_table(
        self, *ranges: tuple[Path, int, int], is_whole: bool = False, **options: Any
    ) -> None:
        """Make the manifest of ranges of bytes, row counts not known."""
        self.config["inputs"] = [{"name": "people", "kind": "table", "table": options}]
        entries = [
            json.dumps(
                {"path": str(path), "start": start, "end": end, "whole": is_whole}
            ).encode()
            for path, start, end in ranges
        ]
        self.write_mini_batches([(entry, wire.UNKNOWN_ITEMS) for entry in entries])

    def write_mini_batches(self, entries: Sequence[tuple[bytes, int]]) -> None:
        items, index = b"", b""
        for entry, count in entries:
            items += entry
            index += wire.MANIFEST_INDEX_RECORD.pack(len(items), count, 0)
        Path(self.config["manifest_items"]).write_bytes(items)
        Path(self.config["manifest_index"]).write_bytes(index)

    # --- as the agent ---

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        config = self.folder / "config.json"
        config.write_text(json.dumps(self.config))
        control_read, self.control_fd = os.pipe()
        self.report_fd, report_write = os.pipe()
        with self.path("fd1.txt").open("ab") as one, self.path("fd2.txt").open("ab") as two:
            self.process = subprocess.Popen(
                [self.python, str(HARNESS), str(config), str(control_read), str(report_write)],
                stdin=subprocess.DEVNULL,
                stdout=one,
                stderr=two,
                pass_fds=(control_read, report_write),
                start_new_session=True,
                env={"PATH": os.environ["PATH"], **(environment or {})},
            )
        os.close(control_read)
        os.close(report_write)

    def lease(
        self, first: int, count: int = 1, try_number: int = 1, lease_id: int = 9
    ) -> Block:
        """Lease mini-batches; return all that is reported until the lease has ended."""
        self.send_lease(first, count, try_number, lease_id)
        return self.read_lease_end()

    def send_lease(
        self, first: int, count: int = 1, try_number: int = 1, lease_id: int = 9
    ) -> None:
        os.write(self.control_fd, b"lease %d %d %d %d\n" % (lease_id, first, count, try_number))

    def read_lease_end(self) -> Block:
        whole: Block | None = None
        while True:
            frame = self.read_frame()
            if frame.kind not in (wire.FRAME_BLOCK, wire.FRAME_LEASE_DONE):
                continue
            block = unpack_block(frame.body)
            if whole is not None:
                block.records[:0] = whole.records
                block.errors[:0] = whole.errors
                block.is_final = block.is_final and whole.is_final
            whole = block
            if frame.kind == wire.FRAME_LEASE_DONE:
                return whole

    def read_until(self, kind: int) -> Frame:
        """Return the next frame of ``kind``."""
        while True:
            frame = self.read_frame()
            if frame.kind == kind:
                return frame

    def end(self) -> Frame:
        """Ask the process to leave; return its FRAME_ENDED."""
        os.write(self.control_fd, b"end\n")
        return self.read_until(wire.FRAME_ENDED)

    def exit_code(self) -> int:
        """Wait for the process; its code, or minus the signal that ended it."""
        assert self.process is not None
        return self.process.wait(WAIT_SECONDS)

    def read_frame(self) -> Frame:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            frame = self._cut()
            if frame is not None:
                self.frames.append(frame)
                return frame
            ready, _, _ = select.select([self.report_fd], [], [], deadline - time.monotonic())
            data = os.read(self.report_fd, 1 << 16) if ready else b""
            if not data:
                raise AssertionError(f"no frame; descriptor 2: {self.text('fd2.txt')}")
            self._held += data

    def _cut(self) -> Frame | None:
        head = wire.FRAME_HEAD.size
        if len(self._held) < head:
            return None
        kind, lease_id, length = wire.FRAME_HEAD.unpack_from(self._held)
        if len(self._held) < head + length:
            return None
        body, self._held = self._held[head : head + length], self._held[head + length :]
        return Frame(kind, lease_id, body)

    def stop(self) -> None:
        """Leave nothing behind, whatever the test has done."""
        for descriptor in (self.control_fd, self.report_fd):
            if descriptor >= 0:
                os.close(descriptor)
        if self.process is not None:
            if self.process.poll() is None:
                os.killpg(self.process.pid, 9)
            self.process.wait(WAIT_SECONDS)

    # --- what it has written ---

    def path(self, name: str) -> Path:
        return self.folder / "logs" / name

    def text(self, name: str) -> str:
        """Return a log file's text; none while it does not exist yet."""
        path = self.path(name)
        return path.read_text() if path.exists() else ""

    def segment(self) -> bytes:
        return Path(self.config["segment"]).read_bytes()

    def columns(self) -> list[Any]:
        path = Path(self.config["segment"] + wire.COLUMNS_SUFFIX)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def printed(self) -> list[tuple[int, ...]]:
        """The notes on what tries have printed."""
        path = Path(self.config["segment"] + wire.PRINTED_SUFFIX)
        return list(wire.PRINTED_RECORD.iter_unpack(path.read_bytes()))

    def words(self) -> list[int]:
        """The status words; the phase word is returned whole."""
        path = Path(self.config["status_file"])
        data = path.read_bytes() if path.exists() else b""
        return list(memoryview(data or bytes(wire.STATUS_FILE_BYTES)).cast("Q"))

    def phase(self) -> tuple[str, int]:
        """Return the name of the phase and the mini-batch index."""
        word = self.words()[wire.WORD_PHASE]
        return wire.PHASE_NAMES[word >> 32], word & 0xFFFFFFFF
