"""Which nodes of a multi-node job follow which group.

Source: ``targetNodes``,
https://docs.aws.amazon.com/batch/latest/userguide/multi-node-job-def.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_RANGE = re.compile(r"([0-9]{1,6})?(:)?([0-9]{1,6})?", re.ASCII)
GRAMMAR = 'must be "a:b", "a:", ":b", ":" or "a", with decimal digits only'


class BadRange(ValueError):
    """The text is no range of these nodes. Fit to show."""


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


@dataclass(frozen=True)
class LayoutProblem:
    index: int | None  # of the range that it is about; None: about all
    rule: str


def parse_range(text: str, node_count: int) -> NodeRange:
    """Return the range, its open ends filled in. Raises BadRange."""
    match = _RANGE.fullmatch(text)
    if match is None or not text:
        raise BadRange(GRAMMAR)
    first_text, colon, last_text = match.groups()
    first = int(first_text or 0)
    last = int(last_text) if last_text else node_count - 1
    if not colon:
        last = first
    if colon and not last_text and first >= node_count:
        raise BadRange(f"{text}: the last index of {_nodes(node_count)} is {node_count - 1}")
    if first > last:
        raise BadRange(f"{text}: the first index {first} is above the last one {last}")
    if last >= node_count:
        raise BadRange(f"{text}: the last index of {_nodes(node_count)} is {node_count - 1}")
    return NodeRange(text, first, last)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def layout_problems(ranges: Sequence[NodeRange], node_count: int) -> Iterator[LayoutProblem]:
    """Yield what keeps the ranges from covering every node, nested or apart."""
    for number, one in enumerate(ranges):
        for earlier in ranges[:number]:
            if (one.first, one.last) == (earlier.first, earlier.last):
                yield LayoutProblem(
                    number, f"{earlier.text} and {one.text} cover the same nodes"
                )
            elif one.touches(earlier) and not (one.encloses(earlier) or earlier.encloses(one)):
                yield LayoutProblem(number, f"{earlier.text} and {one.text} overlap in part")
    if missing := _uncovered(ranges, node_count):
        rule = f"no range covers the nodes {missing}"
        if not any(one.is_open for one in ranges):
            rule += '; a range without end, as "1:", grows with the number of nodes'
        yield LayoutProblem(None, rule)


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


def enclosing_ranges(ranges: Sequence[NodeRange], number: int) -> list[int]:
    """Return the ranges around ``ranges[number]``, from the inside out."""
    inner = ranges[number]
    around = [
        other for other, one in enumerate(ranges) if other != number and one.encloses(inner)
    ]
    return sorted(around, key=lambda other: len(ranges[other]))
