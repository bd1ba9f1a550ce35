"""Node ranges, and the layout of multi-node jobs."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.specs import MultiNodeSpec, Resources, SpecLimits, dump_spec, parse_spec
from runner.core.specs.node_ranges import BadRange, parse_range
from tests.unit.core.specs.spec_jobs import multi_node, problems_of


def spec_of(raw: dict[str, Any]) -> MultiNodeSpec:
    spec = parse_spec(raw).spec
    assert isinstance(spec, MultiNodeSpec)
    return spec


def with_groups(nodes: int, *groups: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**multi_node(nodes), "node_groups": [*groups], **changes}


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("0:3", 0, 3), (":3", 0, 3), ("2:", 2, 5), (":", 0, 5), ("4", 4, 4), ("5:5", 5, 5)],
)
def test_a_range_names_its_first_and_last_node(text: str, first: int, last: int) -> None:
    found = parse_range(text, 6)

    assert (found.first, found.last) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "-1",
        "1:-2",
        "1: 2",
        " 1",
        "+1",
        "3:2",
        "0:6",
        "6",
        "6:",
        "1:2:3",
        "::",
        "٣",
        "0x1",
    ],
)
def test_what_is_no_range_of_six_nodes_is_refused(text: str) -> None:
    with pytest.raises(BadRange):
        parse_range(text, 6)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (multi_node(0, ":"), "nodes: must be a whole number of at least 1 (found: 0)"),
        (multi_node(1001, ":"), "nodes: must be at most 1000 (found: 1001)"),
        (multi_node(4, ":", main_node=4), "main_node: must be a node index from 0 to 3 (nodes"),
        (multi_node(4, ":", main_node=-1), "main_node: must be a whole number of at least 0"),
        (multi_node(6, "0", "1", "2", "3", "4", "5"), "at most 5 node ranges, got 6"),
        (multi_node(2), "node_groups: must be a list of 1 to 5 node groups"),
        (
            multi_node(4, ":", "3:2"),
            "node_groups[1].nodes: 3:2: the first index 3 is above the",
        ),
        (multi_node(4, "0:4"), "node_groups[0].nodes: 0:4: the last index of 4 nodes is 3"),
        (multi_node(1, ":", "1:"), "node_groups[1].nodes: 1:: the last index of 1 node is 0"),
        (multi_node(4, "0:1"), 'no range covers the nodes 2:3; a range without end, as "1:"'),
        (multi_node(8, "1", "3:4", "7:"), "no range covers the nodes 0, 2, 5:6"),
        (multi_node(6, "0:3", "2:5"), "node_groups[1].nodes: 0:3 and 2:5 overlap in part"),
        (multi_node(2, "0:", ":"), "node_groups[1].nodes: 0: and : cover the same nodes"),
        (
            multi_node(4, ":", timeout=59),
            "timeout: must be a whole number of seconds, at least 60",
        ),
        (multi_node(4, ":", array={"size": 3}), "array: not a known key"),
        (
            with_groups(2, {"nodes": 0}),
            'node_groups[0].nodes: must be a range in quotes, as "0"',
        ),
        (with_groups(2, {"nodes": ":", "command": [""]}), "command: must hold no empty text"),
        (
            with_groups(2, {"nodes": ":", "command": ["a", 5]}),
            "command[1]: must be text: quote",
        ),
        (
            with_groups(2, {"nodes": ":", "vcpus": 0}),
            "vcpus: must be a whole number of at least 1",
        ),
        (
            with_groups(2, {"nodes": ":", "memory": 3}),
            "memory: must be a whole number of at lea",
        ),
        (
            with_groups(2, {"nodes": ":", "environment": {"AWS_BATCH_FOO": "1"}}),
            "environment.AWS_BATCH_FOO: names beginning AWS_BATCH are set by the system",
        ),
        (
            with_groups(2, {"nodes": ":", "environment": {"A": "x" * 9000}}),
            "characters as JSON, at most 8192 are allowed (setting PRSWEB_OVERRIDE_MAX_CHARS)",
        ),
        (
            with_groups(
                2, {"nodes": "0", "instance_type": "a"}, {"nodes": "1:", "instance_type": "b"}
            ),
            "node_groups: all must name one instance_type, or set allow_mixed_instance_types; "
            "these are a, b",
        ),
        (multi_node(2, ":", depends_on=[{"type": "SEQUENTIAL"}]), "only for an array job"),
        (
            multi_node(2, ":", parameters={"steps": 100}),
            "parameters.steps: must be text: quote",
        ),
        (multi_node(2, ":", name="-x"), "name: must be 1-128 letters"),
    ],
    ids=lambda value: str(value)[:70],
)
def test_a_layout_that_does_not_fit_is_refused(raw: dict[str, Any], words: str) -> None:
    (found,) = problems_of(raw)

    assert words in found


@pytest.mark.parametrize("text", ["0:0", "0:", ":", "0", ":0"])
def test_a_job_of_one_node_may_write_its_range_in_any_way(text: str) -> None:
    assert spec_of(multi_node(1, text)).group_of(0).nodes == text


@pytest.mark.parametrize(
    ("nodes", "ranges", "followed"),
    [
        (11, ["0:10", "4:5"], {0: "0:10", 3: "0:10", 4: "4:5", 5: "4:5", 6: "0:10"}),
        (
            20,
            ["15:", "0:", "11:"],
            {0: "0:", 10: "0:", 11: "11:", 14: "11:", 15: "15:", 19: "15:"},
        ),
        (3, ["0", "1:"], {0: "0", 1: "1:", 2: "1:"}),
    ],
)
def test_a_node_follows_the_smallest_range_that_holds_it(
    nodes: int, ranges: list[str], followed: dict[int, str]
) -> None:
    spec = spec_of(multi_node(nodes, *ranges))

    assert {index: spec.group_of(index).nodes for index in followed} == followed


def test_cpus_and_memory_come_from_the_range_around_where_none_are_named() -> None:
    spec = spec_of(
        with_groups(
            8,
            {"nodes": "0:", "vcpus": 2, "memory": 2048, "gpus": 1},
            {"nodes": "4:", "memory": 512},
            {"nodes": "5"},
        )
    )

    assert spec.resources_of(1) == Resources(2, 512, 0)
    assert spec.resources_of(2) == Resources(2, 512, 0)
    assert [group["vcpus"] for group in dump_spec(spec)["node_groups"]] == [2, 2, 2]
    assert parse_spec(dump_spec(spec)).spec == spec


def test_types_may_differ_when_that_is_allowed() -> None:
    groups = ({"nodes": "0", "instance_type": "a"}, {"nodes": "1:", "instance_type": "b"})

    assert spec_of(with_groups(2, *groups, allow_mixed_instance_types=True)).nodes == 2


def test_limits_are_settings() -> None:
    raw = multi_node(1001, ":", timeout=5)
    limits = SpecLimits(nodes_per_job=2000, least_timeout_seconds=1)

    assert parse_spec(raw, limits=limits).warnings == ()


def test_a_text_is_run_by_a_shell_and_a_name_without_value_is_warned_of() -> None:
    parsed = parse_spec(
        with_groups(
            2, {"nodes": ":", "command": "run Ref::case Ref::stps"}, parameters={"case": "w"}
        )
    )

    assert isinstance(parsed.spec, MultiNodeSpec)
    assert parsed.spec.group_of(0).command == ["sh", "-c", "run Ref::case Ref::stps"]
    assert parsed.warnings == ("Ref::stps stays as it is written: there is no parameter stps.",)
