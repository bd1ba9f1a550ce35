"""Node ranges and the layout of multi-node jobs."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import MultiNodeSpec, parse_spec
from runner.core.specs.node_ranges import BadRange, parse_range


def job(nodes: int, *ranges: str, **changes: Any) -> dict[str, Any]:
    groups = [{"nodes": text, "command": ["true"]} for text in ranges]
    return {
        "kind": "multi_node",
        "name": "wing",
        "nodes": nodes,
        "node_groups": groups,
        **changes,
    }


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("0:3", 0, 3), (":3", 0, 3), ("2:", 2, 5), (":", 0, 5), ("4", 4, 4)],
)
def test_a_range_names_its_first_and_last_node(text: str, first: int, last: int) -> None:
    found = parse_range(text, 6)

    assert (found.first, found.last) == (first, last)


@pytest.mark.parametrize("text", ["", "a", "-1", "1:-2", "1: 2", "+1", "3:2", "0:6", "1:2:3"])
def test_what_is_no_range_of_six_nodes_is_refused(text: str) -> None:
    with pytest.raises(BadRange):
        parse_range(text, 6)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (job(4, "0:1"), "no range covers the nodes 2:3"),
        (job(6, "0:3", "2:5"), "0:3 and 2:5 overlap in part"),
        (job(2, "0:", ":"), "cover the same nodes"),
        (job(6, "0", "1", "2", "3", "4", "5"), "at most 5 node ranges, got 6"),
        (job(4, ":", main_node=4), "main_node: must be a node index from 0 to 3"),
        (job(2, ":", timeout=5), "timeout: must be a whole number of seconds, at least 60"),
        (job(0, ":"), "nodes: must be a whole number from 1 to 1000"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(raw)

    assert words in str(refused.value)


def test_a_node_follows_the_smallest_range_that_holds_it() -> None:
    spec = parse_spec(job(20, "0:", "11:", "15:")).spec

    assert isinstance(spec, MultiNodeSpec)
    assert [spec.group_of(index).nodes for index in (0, 10, 11, 14, 15, 19)] == [
        "0:",
        "0:",
        "11:",
        "11:",
        "15:",
        "15:",
    ]
