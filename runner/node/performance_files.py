"""The files below ``logs/perf/<node>/``. Nothing here ever fails a job.

Source: Azure's resource monitor writes such files beside a job's logs,
https://learn.microsoft.com/azure/machine-learning/v1/how-to-debug-parallel-run-step
"""

from __future__ import annotations

import csv
import logging
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from runner.core.layout import process_name

logger = logging.getLogger(__name__)

MIB = 1024 * 1024
PS_SECONDS = 5.0
NODE_COLUMNS = (
    "Utc Time,Cpu Percent,Memory Total (MB),Memory Available (MB),Memory Used (MB),"
    "Memory Used Percent,Disk Io Read Count,Disk Io Write Count,Disk Io Read (MB),"
    "Disk Io Write (MB),Network Sent (MB),Network Recv (MB),# of TCP Connections,"
    "# of UDP Connections"
)
DISK_COLUMNS = (
    "Utc Time,Device,Mount Point,File System,Total (MB),Used (MB),Free (MB),Used Percent"
)
PROCESS_COLUMNS = (
    "Utc Time,Process,Pid,Cpu Percent,Memory Rss (MB),Memory Vms (MB),Threads,Open Files,"
    "Io Read (MB),Io Write (MB),Gpu Index,Gpu Memory (MB)"
)
NOT_KNOWN = "N/A"
PSEUDO_FILE_SYSTEMS = frozenset({"squashfs", "proc", "sysfs", "tmpfs", "devtmpfs"})


class PerformanceFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, psutil.Process] = {}  # by pid, for CPU between two entries

    def write(self, processes: Mapping[int, int], gpus: Mapping[int, int | None]) -> None:
        """Add one entry to every file; ``processes`` is number -> pid."""
        at = datetime.now(UTC)
        for write in (
            lambda: self._write_ps(at),
            lambda: _append(
                self._folder / "node_resource_usage.csv", NODE_COLUMNS, [_node(at)]
            ),
            lambda: _append(self._folder / "node_disk_usage.csv", DISK_COLUMNS, _disks(at)),
            lambda: _append(
                self._folder / "processes_resource_usage.csv",
                PROCESS_COLUMNS,
                [self._process(at, n, pid, gpus.get(n)) for n, pid in processes.items()],
            ),
        ):
            try:
                write()
            except (OSError, psutil.Error, subprocess.SubprocessError) as error:
                logger.warning("perf files: %s", error)

    def _write_ps(self, at: datetime) -> None:
        folder = self._folder / "os" / at.strftime("%Y%m%d%H")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"processes_{at:%M}").open("ab") as file:
            file.write(_list_processes())

    def _process(self, at: datetime, number: int, pid: int, gpu: int | None) -> Sequence[Any]:
        try:
            process = self._known.setdefault(pid, psutil.Process(pid))
            with process.oneshot():
                memory = process.memory_info()
                usage = [
                    process.cpu_percent(interval=None),
                    _mib(memory.rss),
                    _mib(memory.vms),
                    process.num_threads(),
                    _or_not_known(process.num_fds),
                    _or_not_known(lambda: _mib(process.io_counters().read_bytes)),
                    _or_not_known(lambda: _mib(process.io_counters().write_bytes)),
                ]
        except psutil.Error:
            usage = [NOT_KNOWN] * 7
        gpu_index = NOT_KNOWN if gpu is None else gpu
        return [_stamp(at), process_name(number), pid, *usage, gpu_index, NOT_KNOWN]


def _node(at: datetime) -> Sequence[Any]:
    memory = psutil.virtual_memory()
    disk, network = psutil.disk_io_counters(), psutil.net_io_counters()
    return [
        _stamp(at),
        psutil.cpu_percent(interval=None),
        _mib(memory.total),
        _mib(memory.available),
        _mib(memory.used),
        memory.percent,
        disk.read_count if disk else NOT_KNOWN,
        disk.write_count if disk else NOT_KNOWN,
        _mib(disk.read_bytes) if disk else NOT_KNOWN,
        _mib(disk.write_bytes) if disk else NOT_KNOWN,
        _mib(network.bytes_sent) if network else NOT_KNOWN,
        _mib(network.bytes_recv) if network else NOT_KNOWN,
        _or_not_known(lambda: len(psutil.net_connections("tcp"))),
        _or_not_known(lambda: len(psutil.net_connections("udp"))),
    ]


def _disks(at: datetime) -> list[Sequence[Any]]:
    rows: list[Sequence[Any]] = []
    for part in psutil.disk_partitions(all=False):
        if part.fstype in PSEUDO_FILE_SYSTEMS:
            continue
        try:
            usage = psutil.disk_usage(part.mountpoint)
        except OSError:
            continue
        sizes = (_mib(usage.total), _mib(usage.used), _mib(usage.free))
        place = (part.device, part.mountpoint, part.fstype)
        rows.append([_stamp(at), *place, *sizes, usage.percent])
    return rows


def _list_processes() -> bytes:
    """Return what ``ps`` says, or the same columns where there is none."""
    try:
        ended = subprocess.run(
            ["ps", "-eo", "user,pid,ppid,pcpu,pmem,vsz,rss,stat,time,args"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PS_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return _list_processes_ourselves()
    return ended.stdout


def _list_processes_ourselves() -> bytes:
    lines = ["USER PID PPID %MEM RSS STAT COMMAND"]
    names = ["username", "pid", "ppid", "memory_percent", "memory_info", "status", "cmdline"]
    for process in psutil.process_iter(names):
        info = process.info
        rss = info["memory_info"].rss // 1024 if info["memory_info"] else 0
        command = " ".join(info["cmdline"] or [])
        head = f"{info['username']} {info['pid']} {info['ppid']}"
        lines.append(
            f"{head} {info['memory_percent'] or 0:.1f} {rss} {info['status']} {command}"
        )
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _append(path: Path, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        if file.tell() == 0:
            file.write(columns + "\r\n")
        csv.writer(file).writerows(rows)


def _or_not_known(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (psutil.Error, OSError, AttributeError):
        return NOT_KNOWN


def _mib(size_bytes: int) -> float:
    return round(size_bytes / MIB, 2)


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")
