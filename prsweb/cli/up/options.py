"""What ``prs up`` was asked for, and what follows for each node."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from prsweb.cli.failure import CommandFailed

MOST_NODES = 2000  # addresses 127.0.1.1 to 127.0.8.222
LEAST_MEMORY_MIB = 1024
MEMORY_SHARE = 0.9
MIB = 1024 * 1024


@dataclass(frozen=True)
class NodeSize:
    """What one node offers to jobs; it may promise more than the machine has."""

    vcpus: int
    memory_mib: int
    gpus: int


@dataclass(frozen=True)
class UpOptions:
    nodes: int = 2
    host: str = "127.0.0.1"
    port: int = 8000
    vcpus: int | None = None  # of one node; None: its share of the machine
    memory_mib: int | None = None
    gpus: int = 0

    def check(self) -> None:
        """Raise CommandFailed for what one machine cannot hold."""
        if self.nodes > MOST_NODES:
            raise CommandFailed(
                f"--nodes {self.nodes}: one machine has addresses for {MOST_NODES} nodes; "
                f"give {MOST_NODES} or fewer"
            )

    def node_size(self) -> NodeSize:
        return share_of_machine(self.nodes, self.vcpus, self.memory_mib, self.gpus)


def share_of_machine(
    nodes: int, vcpus: int | None, memory_mib: int | None, gpus: int
) -> NodeSize:
    """Return the size of one of ``nodes`` equal nodes; what is given wins."""
    cores = os.cpu_count() or 1
    memory = int(psutil.virtual_memory().total * MEMORY_SHARE) // MIB // max(nodes, 1)
    return NodeSize(
        vcpus=vcpus or max(1, cores // max(nodes, 1)),
        memory_mib=memory_mib or max(memory, LEAST_MEMORY_MIB),
        gpus=gpus,
    )
