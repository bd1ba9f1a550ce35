"""The node this process is: one per process, made by ``main``."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from runner.core.messages import Assignment
from runner.node.settings import NodeSettings


@dataclass
class ThisNode:
    settings: NodeSettings
    boot_id: str  # drawn at every start
    started_at: float  # seconds since 1970
    stop: threading.Event = field(default_factory=threading.Event)  # set by a signal handler
    assignment: Assignment | None = None  # the one being worked on
    begun: set[tuple[str, int]] = field(default_factory=set)  # job id and assignment number


_this_node: ThisNode | None = None


def set_this_node(node: ThisNode) -> None:
    global _this_node
    _this_node = node


def get_this_node() -> ThisNode:
    if _this_node is None:
        raise RuntimeError("this process is no node: start it by runner.node.main")
    return _this_node
