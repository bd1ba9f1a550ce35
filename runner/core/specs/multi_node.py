"""The specification of a multi-node job.

Source: multi-node parallel jobs,
https://docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from runner.core.specs.gang_parts import (
    DEFAULT_MEMORY_MIB,
    DEFAULT_VCPUS,
    LEAST_MEMORY_MIB,
    GangSpec,
    RunSpec,
)
from runner.core.specs.model import key, whole_number, yes_or_no
from runner.core.specs.node_ranges import NodeRange, enclosing_ranges, parse_range, range_of

MOST_GROUPS = 5


@dataclass(frozen=True)
class Resources:
    """What one node must have."""

    vcpus: int
    memory_mib: int
    gpus: int


class NodeGroup(RunSpec):
    """Nodes that run the same: a range of indexes."""

    nodes: str = key(
        rule='must be a range in quotes, as "0", "1:" or "2:5"', help_text="Its range of nodes."
    )
    vcpus: int | None = whole_number(
        None,
        least=1,
        help_text=f"vCPUs of a node; by default as the range around it, else {DEFAULT_VCPUS}.",
    )
    memory: int | None = whole_number(
        None,
        least=LEAST_MEMORY_MIB,
        help_text="MiB of a node; by default as the range around it, "
        f"else {DEFAULT_MEMORY_MIB}.",
    )


class MultiNodeSpec(GangSpec):
    """One job over several nodes; the main node decides."""

    kind: Literal["multi_node"] = key(rule="must be multi_node", help_text="Kind of job.")
    nodes: int = whole_number(..., least=1, help_text="Nodes.", offered=True)
    main_node: int = whole_number(0, least=0, help_text="Index of the main node.")
    node_groups: list[NodeGroup] = key(
        rule="must be a list of node groups",
        inner_rule="must be a map with nodes and command",
        help_text="Which nodes run what, 1 to 5 groups; a node follows the smallest range "
        "that holds it.",
        kind="value",
    )
    fail_on_child_failure: bool = yes_or_no(
        False, help_text="The first child that fails ends the attempt."
    )
    allow_mixed_instance_types: bool = yes_or_no(
        False, help_text="Groups may name different types."
    )
    shared_dir: bool = yes_or_no(True, help_text="A folder that all nodes see.")

    def ranges(self) -> list[NodeRange]:
        """Return the ranges of the groups, in the order of the list."""
        return [parse_range(group.nodes, self.nodes) for group in self.node_groups]

    def group_index_of(self, index: int) -> int:
        """Return which group node ``index`` follows, as its place in the list."""
        return range_of(self.ranges(), index)

    def group_of(self, index: int) -> NodeGroup:
        """Return the group that node ``index`` follows."""
        return self.node_groups[self.group_index_of(index)]

    def resources_of(self, group_index: int) -> Resources:
        """Return what each node of that group must have.

        vCPUs and memory that it does not name come from the range around it.
        """
        ranges = self.ranges()
        chain = [self.node_groups[group_index]]
        chain += [self.node_groups[one] for one in enclosing_ranges(ranges, group_index)]
        vcpus = next((one.vcpus for one in chain if one.vcpus is not None), DEFAULT_VCPUS)
        memory = next(
            (one.memory for one in chain if one.memory is not None), DEFAULT_MEMORY_MIB
        )
        return Resources(vcpus, memory, chain[0].gpus)

    def derived_values(self) -> dict[str, Any]:
        """Return by path the values in effect of keys that were left to others."""
        values: dict[str, Any] = {}
        for index, group in enumerate(self.node_groups):
            resources = self.resources_of(index)
            if group.vcpus is None:
                values[f"node_groups[{index}].vcpus"] = resources.vcpus
            if group.memory is None:
                values[f"node_groups[{index}].memory"] = resources.memory_mib
        return values
