"""What a worker process itself costs: one process, leases straight from a pipe.

20,000 mini-batches of 10 short paths, run() returns its list, text output, both
log lines, records unpacked and counted. Prints wall-clock time per mini-batch
and the process's own CPU time; nothing else of the system runs.

    .venv/bin/python bench/harness.py [--mini-batches 20000] [--lease 500] [--rounds 5]
                                      [--python PATH]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from runner.harness import wire  # noqa: E402

SCRIPT = "def run(mini_batch):\n    return list(mini_batch)\n"
ITEMS_PER_MINI_BATCH = 10


class Cost(NamedTuple):
    """Of one mini-batch, in microseconds."""

    wall_us: float
    cpu_us: float


def make_job(folder: Path, mini_batches: int) -> Path:
    """Write script, manifest and configuration; return the path of the last."""
    for name in ("work", "output", "logs"):
        (folder / name).mkdir()
    (folder / "work" / "score.py").write_text(SCRIPT)
    items, ends = bytearray(), []
    for number in range(mini_batches):
        first = number * ITEMS_PER_MINI_BATCH
        paths = [f"/data/scans/item-{first + at:07d}" for at in range(ITEMS_PER_MINI_BATCH)]
        items += "\0".join(paths).encode()
        ends.append(len(items))
    pack = wire.MANIFEST_INDEX_RECORD.pack
    (folder / "items").write_bytes(items)
    (folder / "index").write_bytes(b"".join(pack(end, ITEMS_PER_MINI_BATCH, 0) for end in ends))
    logs = ("system_log", "user_stdout", "user_stderr", "user_error", "entry_script_log")
    config = {
        "job_id": "bench",
        "folder": str(folder),
        "node_name": "n1",
        "node_index": 0,
        "process": 0,
        "assignment": 1,
        "work_dir": str(folder / "work"),
        "entry_script": "score.py",
        "output_folder": str(folder / "output"),
        "log_dir": str(folder / "logs"),
        "segment": str(folder / "segment"),
        "status_file": str(folder / "status"),
        "manifest_items": str(folder / "items"),
        "manifest_index": str(folder / "index"),
        "inputs": [{"name": "scans", "kind": "files"}],
        **{name: str(folder / "logs" / f"{name}.txt") for name in logs},
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


def measure(python: str, mini_batches: int, lease_size: int) -> Cost:
    """Run all mini-batches in a new process, two leases ahead as the node agent does."""
    with tempfile.TemporaryDirectory() as folder:
        config = make_job(Path(folder), mini_batches)
        control_read, control = os.pipe()
        report, report_write = os.pipe()
        process = subprocess.Popen(
            [python, str(CHECKOUT / "runner" / "harness" / "__main__.py"), str(config)]
            + [str(control_read), str(report_write)],
            pass_fds=(control_read, report_write),
            start_new_session=True,
        )
        os.close(control_read)
        os.close(report_write)
        try:
            return _drive(control, report, process.pid, mini_batches, lease_size)
        finally:
            os.close(control)
            os.close(report)
            process.wait()


def _drive(control: int, report: int, pid: int, mini_batches: int, lease_size: int) -> Cost:
    reader = os.fdopen(report, "rb", closefd=False)
    _next_frame(reader)  # ready
    firsts = iter(range(0, mini_batches, lease_size))

    def lease() -> None:
        first = next(firsts, None)
        if first is not None:
            count = min(lease_size, mini_batches - first)
            os.write(control, b"lease 1 %d %d 1\n" % (first, count))

    cpu, started, done = _cpu_seconds(pid), time.perf_counter(), 0
    lease()
    lease()
    while done < mini_batches:
        kind, body = _next_frame(reader)
        done += wire.BLOCK_HEAD.unpack_from(body)[5]
        if kind == wire.FRAME_LEASE_DONE:
            lease()
    wall, cpu = time.perf_counter() - started, _cpu_seconds(pid) - cpu
    os.write(control, b"end\n")
    while _next_frame(reader)[0] != wire.FRAME_ENDED:
        pass
    return Cost(1e6 * wall / mini_batches, 1e6 * cpu / mini_batches)


def _next_frame(reader) -> tuple[int, bytes]:  # type: ignore[no-untyped-def]
    kind, _, length = wire.FRAME_HEAD.unpack(reader.read(wire.FRAME_HEAD.size))
    return kind, reader.read(length)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mini-batches", type=int, default=20000)
    parser.add_argument("--lease", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    costs = [
        measure(options.python, options.mini_batches, options.lease)
        for _ in range(options.rounds)
    ]
    for name, values in zip(Cost._fields, zip(*costs, strict=True), strict=True):
        low, high, median = min(values), max(values), statistics.median(values)
        print(f"{name} per mini-batch: median {median:.2f}, {low:.2f} to {high:.2f}")


if __name__ == "__main__":
    main()
