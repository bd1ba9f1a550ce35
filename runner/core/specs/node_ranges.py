"""Ranges of node indexes, ``a:b``, ``a:``, ``:b``, ``:``, ``a``, and who follows which.

Source: targetNodes of AWS Batch node ranges,
https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeRangeProperty.html
Light on purpose: nodes import it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_RANGE = re.compile(r"([0-9]{1,6})?(:)?([0-9]{1,6})?")
GRAMMAR = "must be a:b, a:, :b, : or a, with decimal digits only"


class BadRange(ValueError):
    """The text is no range, or the ranges do not fit together. Fit to show."""


@dataclass(frozen=True)
class NodeRange:
    """Nodes ``first`` to ``last``, both included."""

    text: str
    first: int
    last: int

    @property
    def is_open(self) -> bool:
        """It grows when the number of nodes does."""
        return self.text.endswith(":")

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and self.first <= index <= self.last

    def __len__(self) -> int:
        return self.last - self.first + 1

    def encloses(self, other: NodeRange) -> bool:
        return self.first <= other.first and other.last <= self.last

    def touches(self, other: NodeRange) -> bool:
        return self.first <= other.last and other.first <= self.last


def parse_range(text: str, node_count: int) -> NodeRange:
    """Return the range, its open ends filled in. Raises BadRange."""
    match = _RANGE.fullmatch(text)
    if match is None or not text:
        raise BadRange(f"{text!r} {GRAMMAR}")
    first_text, colon, last_text = match.groups()
    first = int(first_text or 0)
    last = int(last_text) if last_text else node_count - 1
    if not colon:
        last = first
    if first > last:
        raise BadRange(f"{text}: the first index {first} is above the last one {last}")
    if last >= node_count:
        raise BadRange(f"{text}: the last index of {node_count} nodes is {node_count - 1}")
    return NodeRange(text, first, last)


def check_ranges(ranges: Sequence[NodeRange], node_count: int) -> None:
    """Raise BadRange unless every node is covered and ranges nest or do not touch."""
    for number, one in enumerate(ranges):
        for other in ranges[number + 1 :]:
            if (one.first, one.last) == (other.first, other.last):
                raise BadRange(f"{one.text} and {other.text} cover the same nodes")
            if one.touches(other) and not (one.encloses(other) or other.encloses(one)):
                raise BadRange(f"{one.text} and {other.text} overlap in part")
    if missing := _uncovered(ranges, node_count):
        raise BadRange(f"no range covers the nodes {missing}")


def _uncovered(ranges: Sequence[NodeRange], node_count: int) -> str:
    """Return the uncovered indexes as ranges, ``3, 5:7``; "" when there are none."""
    gaps = []
    at = 0
    for one in sorted(ranges, key=lambda one: one.first):
        if one.first > at:
            gaps.append((at, one.first - 1))
        at = max(at, one.last + 1)
    if at < node_count:
        gaps.append((at, node_count - 1))
    return ", ".join(str(a) if a == b else f"{a}:{b}" for a, b in gaps)


def range_of(ranges: Sequence[NodeRange], index: int) -> int:
    """Return which of ``ranges`` the node follows: the smallest that holds it."""
    holding = [number for number, one in enumerate(ranges) if index in one]
    if not holding:
        raise BadRange(f"no range covers node {index}")
    return min(holding, key=lambda number: len(ranges[number]))
