from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.layout import JobFolder
from runner.core.messages import Assignment
from runner.core.node_groups import NodeRangeInvalid, find_node_group, parse_node_range
from runner.node.command_spec import CommandSpec
from runner.node.process_environment import command_environment


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("0:", range(6)),
        (":2", range(3)),
        (":", range(6)),
        ("4", range(4, 5)),
        ("1:3", range(1, 4)),
    ],
)
def test_a_range_of_nodes_has_both_its_ends(text, nodes):
    assert parse_node_range(text, 6) == nodes


@pytest.mark.parametrize("text", ["", "a:b", "-1:", "1-3", "1 :2"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(NodeRangeInvalid):
        parse_node_range(text, 6)


def test_the_smallest_range_that_holds_a_node_wins_and_inherits_its_size():
    spec = {
        "nodes": 20,
        "node_groups": [
            {"nodes": "0:", "command": ["all"], "vcpus": 2, "memory": 100},
            {"nodes": "15:", "command": ["last"]},
            {"nodes": "11:", "command": ["late"], "vcpus": 4},
        ],
    }

    assert find_node_group(spec, 3)["command"] == ["all"]
    assert find_node_group(spec, 12)["command"] == ["late"]
    last = find_node_group(spec, 19)
    assert (last["command"], last["vcpus"], last["memory"]) == (["last"], 4, 100)


def test_parameters_are_put_into_the_command_wherever_they_stand():
    spec = {
        "command": ["run", "--case=Ref::case", "Ref::steps", "Ref::unknown"],
        "parameters": {"case": "wing.dat", "steps": 100},
    }

    argv = CommandSpec.of_node(spec, 0).argv

    assert argv == ("run", "--case=wing.dat", "100", "Ref::unknown")


def test_a_command_of_one_text_is_for_a_shell():
    assert CommandSpec.of_node({"command": "echo hi"}, 0).argv == ("sh", "-c", "echo hi")


def environment_of(node_index: int, kind: str = "multi_node") -> dict[str, str]:
    assignment = Assignment(
        job_id="9f1c",
        job_number=1,
        kind=kind,
        attempt=2,
        number=1,
        node_name="n7",
        node_index=node_index,
        boot_id="b",
        folder="/jobs/9f1c",
        node_count=10,
        main_node=0,
        is_main_address="127.0.1.1",
    )
    return command_environment(
        assignment,
        address="127.0.1.7",
        work_dir=Path("/jobs/9f1c/nodes/0/attempt-2/work"),
        folder=JobFolder(Path("/jobs/9f1c")),
        temporary=Path("/tmp/x"),
        devices="",
        own={"MODE": "fast", "AWS_BATCH_JOB_ATTEMPT": "99", "PRSWEB_NODE_NAME": "stolen"},
    )


def test_a_child_learns_the_address_of_the_main_node_and_the_main_node_does_not():
    name = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"

    assert environment_of(3)[name] == "127.0.1.1"
    assert name not in environment_of(0)


def test_every_node_of_a_multi_node_job_has_its_numbers():
    found = environment_of(3)

    assert found["AWS_BATCH_JOB_ID"] == "9f1c#3"
    assert found["AWS_BATCH_JOB_NODE_INDEX"] == "3"
    assert found["AWS_BATCH_JOB_NUM_NODES"] == "10"
    assert found["AWS_BATCH_JOB_MAIN_NODE_INDEX"] == "0"
    assert found["AWS_BATCH_JOB_ATTEMPT"] == "2"  # ours come last
    assert found["PRSWEB_NODE_NAME"] == "n7"
    assert found["MODE"] == "fast"


def test_a_plain_job_has_no_node_variables():
    found = environment_of(0, kind="command")

    assert found["AWS_BATCH_JOB_ID"] == "9f1c"
    assert not [name for name in found if "NODE_INDEX" in name or "NUM_NODES" in name]
    assert "PRSWEB_SHARED_DIR" not in found
