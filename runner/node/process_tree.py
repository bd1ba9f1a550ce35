"""Find the processes of a job and end them, all of them.

A process group does not hold a program that daemonises, and no ``finally``
runs after ``kill -9``. So processes are found in three ways: by group, as
descendants, and by the marks in their environment, which children inherit.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.02
KILL_WAIT_SECONDS = 5.0  # after SIGKILL; more is an uninterruptible read
PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> bool:
    """Let orphaned descendants become children of this process, so that they can
    be found and reaped. False where the system has no such thing."""
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        return bool(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def read_parents() -> dict[int, int]:
    """Return pid -> parent's pid for every process that can be seen."""
    parents: dict[int, int] = {}
    for pid in _all_pids():
        fields = _stat_fields(pid)
        if fields is not None:
            parents[pid] = int(fields[1])
    return parents


def find_descendants(roots: Iterable[int], parents: Mapping[int, int]) -> set[int]:
    """Return the descendants of ``roots``, without these."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def find_marked(
    marks: Mapping[str, str], *, below: Mapping[str, str] | None = None
) -> set[int]:
    """Return the processes whose environment has every one of ``marks``, and
    whose variables in ``below`` hold a path inside that folder.

    Processes of other users cannot be read and are left out.
    """
    wanted = [f"{name}={value}".encode() for name, value in marks.items()]
    folders = [f"{name}={folder}/".encode() for name, folder in (below or {}).items()]
    found = set()
    for pid in _all_pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if all(one in variables for one in wanted) and all(
            any(one.startswith(folder) for one in variables) for folder in folders
        ):
            found.add(pid)
    found.discard(os.getpid())
    return found


def kill_marked(marks: Mapping[str, str]) -> None:
    """SIGKILL every process that carries the marks, once, without waiting."""
    signal_all(find_marked(marks), signal.SIGKILL)


def find_group_members(groups: Iterable[int]) -> set[int]:
    """Return the processes, zombies not counted, of these process groups."""
    wanted = set(groups)
    found = set()
    for pid in _all_pids():
        fields = _stat_fields(pid)
        if fields is not None and int(fields[2]) in wanted and fields[0] != b"Z":
            found.add(pid)
    return found


def is_alive(pid: int) -> bool:
    """False for a zombie too: nothing of it runs any more."""
    fields = _stat_fields(pid)
    return fields is not None and fields[0] != b"Z"


def signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def end_processes(find: Callable[[], set[int]], *, grace_seconds: float) -> set[int]:
    """SIGTERM what ``find`` gives, SIGKILL what is left after the grace, and look
    again until nothing is found. Returns what outlived even that."""
    found = {pid for pid in find() if is_alive(pid)}
    if not found:
        return set()
    if grace_seconds > 0:
        signal_all(found, signal.SIGTERM)
        _wait_until_none(find, time.monotonic() + grace_seconds)
    deadline = time.monotonic() + KILL_WAIT_SECONDS
    while True:
        # Again and again: a process that forks while it is looked for has one more child.
        found = {pid for pid in find() if is_alive(pid)}
        if not found or time.monotonic() >= deadline:
            break
        signal_all(found, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    if found:
        logger.error("processes %s outlived SIGKILL", sorted(found))
    return found


def reap(pids: Iterable[int]) -> None:
    """Take the exit status of those that are ended children of this process.

    Only for orphans that came to us: a process that subprocess started is
    waited for by subprocess.
    """
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def find_children() -> set[int]:
    """Return the direct children of this process."""
    return {pid for pid, parent in read_parents().items() if parent == os.getpid()}


def find_orphans(own_children: Iterable[int]) -> set[int]:
    """Return this process's children that it did not start itself, descendants
    of ended processes, and what these have started in turn."""
    parents = read_parents()
    adopted = {pid for pid, parent in parents.items() if parent == os.getpid()}
    adopted -= set(own_children)
    return adopted | find_descendants(adopted, parents)


def _wait_until_none(find: Callable[[], set[int]], deadline: float) -> None:
    while time.monotonic() < deadline:
        if not any(is_alive(pid) for pid in find()):
            return
        time.sleep(POLL_SECONDS)


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def _stat_fields(pid: int) -> list[bytes] | None:
    """Return state, parent, group, session …; the name before them may hold blanks."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            content = file.read()
    except OSError:
        return None
    return content[content.rindex(b")") + 2 :].split()
