"""Which node group of a multi-node job a node follows. Pure.

Source: node ranges, where the smallest one that holds a node wins,
https://docs.aws.amazon.com/batch/latest/userguide/mnp-node-groups.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_RANGE = re.compile(r"(?P<first>\d*)(?P<colon>:?)(?P<last>\d*)")
_REFERENCE = re.compile(r"Ref::([A-Za-z0-9_-]+)")


class NodeRangeInvalid(ValueError):
    """The text is no range of nodes."""


def parse_node_range(text: str, node_count: int) -> range:
    """Return the nodes of ``a:b`` (both included), ``:b``, ``a:``, ``:`` or ``a``."""
    match = _RANGE.fullmatch(text)
    if match is None or not text:
        raise NodeRangeInvalid(f"{text!r}: must be a:b, :b, a:, : or a number")
    first = int(match["first"] or 0)
    if not match["colon"]:
        return range(first, first + 1)
    last = int(match["last"]) if match["last"] else node_count - 1
    return range(first, last + 1)


def find_node_group(spec: Mapping[str, Any], node_index: int) -> Mapping[str, Any]:
    """Return what the node runs: the group of the smallest range that holds it,
    its vCPUs and memory from the enclosing one where it names none.

    A plain job is its own group. Raises NodeRangeInvalid when no range holds it.
    """
    groups: Sequence[Mapping[str, Any]] = spec.get("node_groups") or ()
    if not groups:
        return spec
    node_count = int(spec.get("nodes") or 1)
    holding = sorted(
        (
            (len(nodes), group)
            for group in groups
            if node_index in (nodes := parse_node_range(str(group["nodes"]), node_count))
        ),
        key=lambda sized: sized[0],
    )
    if not holding:
        raise NodeRangeInvalid(f"no node group holds node {node_index}")
    found = dict(holding[0][1])
    for _, outer in holding[1:]:
        for name in ("vcpus", "memory"):
            if found.get(name) is None:
                found[name] = outer.get(name)
    return found


def substitute_references(
    command: Sequence[str], parameters: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return ``command`` with every ``Ref::name`` replaced by the parameter's
    value, wherever it stands; a name without value stays as written."""

    def value(match: re.Match[str]) -> str:
        found = parameters.get(match[1])
        return match[0] if found is None else str(found)

    return tuple(_REFERENCE.sub(value, word) for word in command)
