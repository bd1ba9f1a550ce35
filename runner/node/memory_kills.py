"""Tell a kill for lack of memory from any other signal 9."""

from __future__ import annotations

from pathlib import Path

VMSTAT = Path("/proc/vmstat")
CGROUP_EVENTS = Path("/sys/fs/cgroup/memory.events")


def count_memory_kills() -> int | None:
    """Return how often the kernel has killed for memory; None if it does not say."""
    counts = [
        count
        for path, name in ((VMSTAT, "oom_kill"), (CGROUP_EVENTS, "oom_kill"))
        if (count := _read_count(path, name)) is not None
    ]
    return sum(counts) if counts else None


def _read_count(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        word, _, value = line.partition(" ")
        if word == name and value.strip().isdigit():
            return int(value)
    return None
