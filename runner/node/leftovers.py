"""Processes of a job that are still there when they should not be."""

from __future__ import annotations

import logging

from runner.core.messages import Assignment
from runner.node.process_tree import (
    end_processes,
    find_children,
    find_descendants,
    find_marked,
    find_orphans,
    read_parents,
    reap,
)
from runner.node.settings import NodeSettings

logger = logging.getLogger(__name__)


def sweep_leftovers(settings: NodeSettings) -> int:
    """Kill what an earlier start of this node left behind: what carries its name
    and a work directory below this PRSWEB_HOME, with its descendants. Returns how
    many processes there were.

    The rescuer for what no ``finally`` covers, ``kill -9`` of the node.
    Another node's processes, and those of another PRSWEB_HOME, are left alone.
    """

    def find() -> set[int]:
        marked = find_marked(
            {"PRSWEB_NODE_NAME": settings.name},
            below={"PRSWEB_WORK_DIR": str(settings.home.root)},
        )
        return marked | find_descendants(marked, read_parents())

    found = len(find())
    if found:
        logger.warning(
            "node %s: ending %d processes left by an earlier start", settings.name, found
        )
        end_processes(find, grace_seconds=0.0)
    return found


class Leftovers:
    """What an assignment leaves behind, whatever it did to its group, its session,
    its parents or its environment.

    Made before the first process of the assignment: children that this process
    has by then are not the job's.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._marks = {
            "PRSWEB_JOB_ID": assignment.job_id,
            "PRSWEB_NODE_NAME": assignment.node_name,
        }
        self._spared = find_children()

    def end(self) -> None:
        """Kill and reap them all. Only when no process of the assignment that
        subprocess waits for is left."""
        end_processes(
            lambda: find_marked(self._marks) | find_orphans(self._spared), grace_seconds=0.0
        )
        reap(find_orphans(self._spared))
