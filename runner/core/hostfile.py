"""The host file of a multi-node job, as MPI launchers read it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runner.core.layout import JobFolder


def hostfile_path(folder: JobFolder, attempt: int) -> Path:
    """Return where PRSWEB_HOSTFILE points in this attempt."""
    return folder.root / "nodes" / f"attempt-{attempt}.hosts"


def hostfile_text(hosts: Iterable[tuple[str, int]]) -> str:
    """Return a line per node, by index: ``127.0.1.3 slots=2``; slots are vCPUs."""
    return "".join(f"{address} slots={vcpus}\n" for address, vcpus in hosts)
