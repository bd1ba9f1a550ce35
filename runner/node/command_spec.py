"""What a node needs of a multi-node or plain job's ``spec.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.core.node_groups import find_node_group, substitute_references

DEFAULT_GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class CommandSpec:
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    memory_mib: int | None
    grace_seconds: float

    @classmethod
    def of_node(cls, members: Mapping[str, Any], node_index: int) -> CommandSpec:
        """Return the command of node ``node_index``, parameters put in.

        Raises NodeRangeInvalid when no group holds the node.
        """
        group = find_node_group(members, node_index)
        grace = members.get("stop_grace_seconds")
        return cls(
            argv=substitute_references(
                _words(group.get("command")), members.get("parameters") or {}
            ),
            environment=dict(group.get("environment") or {}),
            memory_mib=group.get("memory"),
            grace_seconds=DEFAULT_GRACE_SECONDS if grace is None else float(grace),
        )


def _words(command: Any) -> tuple[str, ...]:
    """A command given as one text is for a shell."""
    if isinstance(command, str):
        return ("sh", "-c", command)
    return tuple(str(word) for word in command or ())
