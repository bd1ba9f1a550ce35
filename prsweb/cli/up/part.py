"""What ``prs up`` starts: one process each, with its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path


class StopStage(IntEnum):
    """Parts of one stage end together; the next stage waits for them."""

    WORK = 0  # web and nodes
    ORCHESTRATOR = 1  # hears the nodes' last reports
    REDIS = 2  # carries them


@dataclass(frozen=True)
class Part:
    name: str  # "web", "n1"; also of its log
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    stage: StopStage
    grace_seconds: float  # from SIGTERM to SIGKILL
    pass_fds: tuple[int, ...] = ()
    remedy: str = ""  # a sentence for whoever reads that it does not start
