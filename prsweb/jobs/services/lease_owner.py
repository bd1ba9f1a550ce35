"""Who holds a master lease: a name that tells, on its own machine, whether it still lives.

A lease runs out by itself after 15 s. Where the one who looks shares the machine
with the owner it need not wait: a process that is gone renews nothing.
"""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

import psutil

SEPARATOR = "-"


def draw_owner() -> str:
    """Return a name never drawn before, at most 64 characters."""
    pid = os.getpid()
    parts = (machine_key(), str(pid), str(_started(pid)), uuid4().hex[:16])
    return SEPARATOR.join(parts)


def is_gone(owner: str | None) -> bool:
    """Whether the owner's process has certainly ended. Unknown, or elsewhere: False."""
    machine, *numbers = (owner or "").split(SEPARATOR)
    if machine != machine_key() or len(numbers) != 3:
        return False
    pid, started = numbers[0], numbers[1]
    if not (pid.isdecimal() and started.isdecimal()):
        return False
    return _started(int(pid)) != int(started)


@cache
def machine_key() -> str:
    """Return what tells apart sets of process numbers: machine, boot, namespace."""
    facts = [socket.gethostname()]
    with suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        facts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:12]


def _started(pid: int) -> int | None:
    """Return when the process began, in hundredths of a second; None: there is none."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return round(process.create_time() * 100)
    except psutil.Error:
        return None
