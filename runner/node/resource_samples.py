"""One reading of the resources of the node and its worker processes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

# A row of a report, see runner.core.messages.SamplesTaken.
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Reading:
    rows: tuple[Row, ...]
    rss_bytes: Mapping[int, int]  # by process number, children added
    memory_percent: float  # of the node


@dataclass
class _Usage:
    """Sums over a worker process and its children."""

    cpu_seconds: float = 0.0
    rss_bytes: int = 0
    own_bytes: int = 0
    threads: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    open_files: int = 0
    age_seconds: float = 0.0  # of the worker process itself


class ResourceReader:
    """CPU is the share of one core since the reading before, of a process that was
    not read before since its start."""

    def __init__(self) -> None:
        self._cpu_seconds: dict[int, float] = {}  # by process number
        self._read_at: float | None = None
        psutil.cpu_percent(interval=None)  # the first answer is meaningless

    def read(self, processes: Mapping[int, int], *, now: float) -> Reading:
        """Return the rows of node and processes (number -> pid); ended ones are
        left out. ``now`` is monotonic."""
        children = _children_by_parent() if processes else {}
        memory = psutil.virtual_memory()
        rows: list[Row] = [_read_node(memory.used)]
        rss_bytes: dict[int, int] = {}
        elapsed = None if self._read_at is None else now - self._read_at
        cpu_seconds: dict[int, float] = {}
        for number, pid in processes.items():
            usage = _read_tree(pid, children)
            if usage is None:
                continue
            cpu_seconds[number] = usage.cpu_seconds
            rss_bytes[number] = usage.rss_bytes
            rows.append(_row(number, usage, self._cpu_percent(number, usage, elapsed)))
        self._cpu_seconds, self._read_at = cpu_seconds, now
        return Reading(tuple(rows), rss_bytes, memory.percent)

    def _cpu_percent(self, number: int, usage: _Usage, elapsed: float | None) -> float | None:
        before = self._cpu_seconds.get(number)
        if before is None:
            return round(usage.cpu_seconds / max(usage.age_seconds, 0.01) * 100, 1)
        if not elapsed:
            return None
        # A child that ended took its seconds with it.
        return round(max(0.0, usage.cpu_seconds - before) / elapsed * 100, 1)


def _row(number: int, usage: _Usage, cpu_percent: float | None) -> Row:
    return (
        number,
        cpu_percent,
        usage.rss_bytes,
        usage.own_bytes,
        usage.threads,
        usage.read_bytes,
        usage.written_bytes,
        None,  # bytes sent and received are known for the machine only
        None,
        usage.open_files,
    )


def _read_node(used_bytes: int) -> Row:
    disk, network = psutil.disk_io_counters(), psutil.net_io_counters()
    return (
        None,
        psutil.cpu_percent(interval=None),
        used_bytes,
        None,
        None,
        disk.read_bytes if disk else None,
        disk.write_bytes if disk else None,
        network.bytes_sent if network else None,
        network.bytes_recv if network else None,
        None,
    )


def _children_by_parent() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for process in psutil.process_iter(["ppid"]):
        children.setdefault(process.info["ppid"], []).append(process.pid)
    return children


def _read_tree(pid: int, children: Mapping[int, Iterable[int]]) -> _Usage | None:
    """Return the sums over ``pid`` and all below it, or None when it has ended."""
    usage = _Usage()
    waiting, is_found = [pid], False
    while waiting:
        one = waiting.pop()
        waiting.extend(children.get(one, ()))
        with suppress(psutil.Error, OSError):
            process = psutil.Process(one)
            _add_process(usage, process)
            if one == pid:
                is_found = True
                usage.age_seconds = time.time() - process.create_time()
    return usage if is_found else None


def _add_process(usage: _Usage, process: psutil.Process) -> None:
    with process.oneshot():
        times, memory = process.cpu_times(), process.memory_info()
        usage.cpu_seconds += times.user + times.system
        usage.rss_bytes += memory.rss
        usage.own_bytes += memory.rss - getattr(memory, "shared", 0)
        usage.threads += process.num_threads()
        with suppress(psutil.Error, AttributeError):  # refused for another user's process
            counters = process.io_counters()
            usage.read_bytes += counters.read_bytes
            usage.written_bytes += counters.write_bytes
        with suppress(psutil.Error, AttributeError, OSError):
            usage.open_files += process.num_fds()
