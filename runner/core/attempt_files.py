"""Files that an attempt of a multi-node or plain job has beside its logs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runner.core.layout import JobFolder


def hostfile_path(folder: JobFolder, attempt: int) -> Path:
    """Return where PRSWEB_HOSTFILE points in this attempt; MPI launchers read it."""
    return folder.root / "nodes" / f"attempt-{attempt}.hosts"


def exit_file_path(folder: JobFolder, index: int, attempt: int) -> Path:
    """Return where the guard of a node's command keeps how that ended: JSON with
    ``return_code`` (minus the signal), ``at`` and ``is_stopped``."""
    return folder.attempt_work(index, attempt).parent / "exit.json"


def hostfile_text(hosts: Iterable[tuple[str, int]]) -> str:
    """Return a line per node, by index: ``127.0.1.3 slots=2``; slots are vCPUs."""
    return "".join(f"{address} slots={vcpus}\n" for address, vcpus in hosts)
