"""F1 and F2: what dispatching a mini-batch costs, beside multiprocessing.Pool.

Runs the whole system (web, orchestrator, node agents, Redis, SQLite, logs,
output) on a home of its own and alternates with ``multiprocessing.Pool`` in
the same run, so that a drift of the machine meets both. Prints a table and
appends one line to ``bench/results.jsonl``.

F1  20,000 mini-batches of 10 short strings, run() returns its list,
    2 nodes x 1 process: from RUNNING to SUCCEEDED, per mini-batch.
F2  ideal / actual for short tasks: 5 ms of CPU on 2 processes, 10 ms of
    sleep on 8 processes.

    ./prs bench dispatch [--rounds 5] [--mini-batches 20000]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from running_system import RunningSystem, machine_facts

HERE = Path(__file__).resolve().parent
STRINGS_PER_MINI_BATCH = 10

ECHO_SCRIPT = "def run(mini_batch):\n    return list(mini_batch)\n"
BUSY_SCRIPT = """import time

def run(mini_batch):
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
    return list(mini_batch)
"""
SLEEP_SCRIPT = """import time

def run(mini_batch):
    time.sleep(0.01)
    return list(mini_batch)
"""


@dataclass(frozen=True)
class Work:
    """One kind of mini-batch, and how many of them on how many processes."""

    name: str
    script: str
    mini_batches: int
    node_count: int
    process_count_per_node: int
    ideal_seconds: float | None  # of one mini-batch; None: F1, only the cost counts

    @property
    def processes(self) -> int:
        return self.node_count * self.process_count_per_node

    def figure(self, seconds: float) -> float:
        """F1: microseconds per mini-batch. F2: ideal / actual."""
        if self.ideal_seconds is None:
            return 1e6 * seconds / self.mini_batches
        return self.ideal_seconds * self.mini_batches / self.processes / seconds


def _busy(_: list[str]) -> list[str]:
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
    return _


def _sleep(strings: list[str]) -> list[str]:
    time.sleep(0.01)
    return strings


def _echo(strings: list[str]) -> list[str]:
    return list(strings)


POOL_FUNCTIONS: dict[str, Callable[[list[str]], list[str]]] = {
    "echo": _echo,
    "busy": _busy,
    "sleep": _sleep,
}


def pool_seconds(work: Work, chunksize: int) -> float:
    """Return how long a pool takes, its processes already started."""
    strings = [[f"item-{n:06d}" for n in range(STRINGS_PER_MINI_BATCH)]] * work.mini_batches
    with multiprocessing.get_context("fork").Pool(work.processes) as pool:
        pool.map(_echo, strings[: work.processes])
        started = time.perf_counter()
        count = sum(1 for _ in pool.imap(POOL_FUNCTIONS[work.name], strings, chunksize))
        seconds = time.perf_counter() - started
    assert count == work.mini_batches
    return seconds


@contextmanager
def job_file(work: Work, folder: Path) -> Iterator[Path]:
    """A job whose items are names of real files, made once for all rounds."""
    inputs = folder / "inputs" / str(work.mini_batches)
    if not inputs.exists():
        _make_files(inputs, work.mini_batches * STRINGS_PER_MINI_BATCH)
    code = folder / work.name
    code.mkdir(exist_ok=True)
    (code / "score.py").write_text(work.script)
    path = folder / f"{work.name}.json"
    path.write_text(
        json.dumps(
            {
                "kind": "parallel_run_step",
                "name": f"bench-{work.name}",
                "inputs": [{"name": "files", "type": "files", "path": str(inputs)}],
                "mini_batch_size": STRINGS_PER_MINI_BATCH,
                "source_directory": str(code),
                "entry_script": "score.py",
                "node_count": work.node_count,
                "process_count_per_node": work.process_count_per_node,
                "output_action": "append_row",
                "allow_reuse": False,
            }
        )
    )
    yield path


def _make_files(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        os.close(os.open(folder / f"{number:07d}", os.O_CREAT | os.O_WRONLY, 0o644))


def our_seconds(system: RunningSystem, work: Work, folder: Path) -> float:
    """Return the time from RUNNING to SUCCEEDED, after checking the output."""
    with job_file(work, folder) as path:
        job = system.submit_and_wait(path)
    assert job["state"] == "SUCCEEDED", job["reason"]
    assert job["succeeded_items"] == work.mini_batches * STRINGS_PER_MINI_BATCH, job
    with open(job["output"], "rb") as output:
        assert sum(1 for _ in output) == job["succeeded_items"]
    return (_at(job["ended_at"]) - _at(job["running_at"])).total_seconds()


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def measure(system: RunningSystem, work: Work, rounds: int, folder: Path) -> dict[str, Any]:
    """Return the figures of ``rounds`` alternating runs of us and of the pool."""
    ours, pool_1, pool_100 = [], [], []
    our_seconds(system, work, folder)  # warms imports and page cache, not counted
    for _ in range(rounds):
        ours.append(work.figure(our_seconds(system, work, folder)))
        pool_1.append(work.figure(pool_seconds(work, 1)))
        if work.ideal_seconds is None:
            pool_100.append(work.figure(pool_seconds(work, 100)))
    ratios = [a / b for a, b in zip(ours, pool_1, strict=True)]
    return {
        "work": work.name,
        "prsweb": _spread(ours),
        "pool_chunksize_1": _spread(pool_1),
        "pool_chunksize_100": _spread(pool_100) if pool_100 else None,
        "ratio_to_pool_1": _spread(ratios),
    }


def _spread(values: list[float]) -> list[float]:
    """Return minimum, median, maximum."""
    return [round(v, 4) for v in (min(values), statistics.median(values), max(values))]


def print_table(figure: dict[str, Any], unit: str) -> None:
    print(f"\n{figure['work']}  ({unit}; min / median / max)")
    for key in ("prsweb", "pool_chunksize_1", "pool_chunksize_100", "ratio_to_pool_1"):
        if figure[key]:
            low, median, high = figure[key]
            print(f"  {key:20} {low:10.3f} {median:10.3f} {high:10.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mini-batches", type=int, default=20_000)
    arguments = parser.parse_args()
    echo = Work("echo", ECHO_SCRIPT, arguments.mini_batches, 2, 1, None)
    short = (
        Work("busy", BUSY_SCRIPT, 2_000, 2, 1, 0.005),
        Work("sleep", SLEEP_SCRIPT, 4_000, 2, 4, 0.010),
    )
    with (
        tempfile.TemporaryDirectory(prefix="prsweb-bench-") as folder,
        RunningSystem(Path(folder) / "home", nodes=2) as system,
    ):
        figures = [measure(system, echo, arguments.rounds, Path(folder))]
        print_table(figures[0], "F1: us per mini-batch")
        for work in short:
            figures.append(measure(system, work, arguments.rounds, Path(folder)))
            print_table(figures[-1], "F2: ideal / actual, 1 is best")
    line = {"bench": "dispatch", **machine_facts(), "figures": figures}
    with (HERE / "results.jsonl").open("a") as results:
        results.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
