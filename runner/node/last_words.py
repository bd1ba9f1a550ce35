"""What a worker process has written before it died, for the person who must know why."""

from __future__ import annotations

from pathlib import Path

MOST_BYTES = 4096
MOST_STACK_BYTES = 16384


def size_of(path: Path) -> int:
    """Return the file's size, 0 when there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_tail(path: Path) -> str:
    """Return the last lines of the file, "" when there are none."""
    return read_from(path, max(0, size_of(path) - MOST_BYTES), most_bytes=MOST_BYTES)


def read_from(path: Path, start: int, *, most_bytes: int = MOST_STACK_BYTES) -> str:
    """Return what stands in the file from byte ``start`` on."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(most_bytes).decode("utf-8", "replace").strip()
    except OSError:
        return ""
