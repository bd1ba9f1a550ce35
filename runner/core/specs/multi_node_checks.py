"""What must fit together in a multi-node or plain job, and what is only warned of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from runner.core.problems import Problem
from runner.core.specs.checks import (
    Check,
    SpecLimits,
    needs,
    problem_at,
    tags_are_few_and_short,
)
from runner.core.specs.command import ArraySpec, CommandSpec
from runner.core.specs.data_paths import is_relative
from runner.core.specs.gang_parts import Dependency, RunSpec
from runner.core.specs.multi_node import MOST_GROUPS, MultiNodeSpec, NodeGroup
from runner.core.specs.node_ranges import BadRange, layout_problems, parse_range
from runner.core.specs.paths import Location

_REFERENCE = re.compile(r"Ref::([A-Za-z0-9_-]+)")


@needs("timeout")
def timeout_is_long_enough(seconds: int | None, *, limits: SpecLimits) -> Iterator[Problem]:
    least = limits.least_timeout_seconds
    if seconds is not None and seconds < least:
        rule = f"must be a whole number of seconds, at least {least}"
        yield problem_at(("timeout",), rule, seconds)


_COMMON_CHECKS: tuple[Check, ...] = (tags_are_few_and_short, timeout_is_long_enough)


@needs("nodes")
def nodes_are_not_too_many(nodes: int, *, limits: SpecLimits) -> Iterator[Problem]:
    if nodes > limits.nodes_per_job:
        yield problem_at(("nodes",), f"must be at most {limits.nodes_per_job}", nodes)


@needs("nodes", "main_node")
def main_node_exists(nodes: int, main_node: int) -> Iterator[Problem]:
    if main_node >= nodes:
        rule = f"must be a node index from 0 to {nodes - 1} (nodes is {nodes})"
        yield problem_at(("main_node",), rule, main_node)


@needs("node_groups")
def groups_are_few(groups: list[NodeGroup]) -> Iterator[Problem]:
    if not groups:
        yield problem_at(("node_groups",), "must be a list of 1 to 5 node groups", groups)
    if len(groups) > MOST_GROUPS:
        rule = f"at most {MOST_GROUPS} node ranges, got {len(groups)}"
        yield problem_at(("node_groups",), rule)


@needs("nodes", "node_groups")
def ranges_fit_together(nodes: int, groups: list[NodeGroup]) -> Iterator[Problem]:
    ranges = []
    for index, group in enumerate(groups):
        try:
            ranges.append(parse_range(group.nodes, nodes))
        except BadRange as bad:
            yield problem_at(("node_groups", index, "nodes"), str(bad), group.nodes)
    if len(ranges) < len(groups) or not groups:
        return
    for problem in layout_problems(ranges, nodes):
        at: Location = () if problem.index is None else (problem.index, "nodes")
        yield problem_at(("node_groups", *at), problem.rule)


@needs("node_groups", "allow_mixed_instance_types")
def instance_types_are_equal(groups: list[NodeGroup], may_differ: bool) -> Iterator[Problem]:
    types = dict.fromkeys(one.instance_type for one in groups if one.instance_type)
    if len(types) > 1 and not may_differ:
        rule = "all must name one instance_type, or set allow_mixed_instance_types; these are "
        yield problem_at(("node_groups",), rule + ", ".join(types))


@needs("node_groups")
def groups_are_not_too_long(
    groups: list[NodeGroup], *, limits: SpecLimits
) -> Iterator[Problem]:
    for index, group in enumerate(groups):
        yield from _too_long(("node_groups", index), group.command, group.environment, limits)


def _too_long(
    at: Location, command: list[str], environment: dict[str, str], limits: SpecLimits
) -> Iterator[Problem]:
    size = len(json.dumps({"command": command, "environment": environment}))
    if size > limits.override_characters:
        yield problem_at(
            (*at, "environment") if environment else (*at, "command"),
            f"command and environment have {size} characters as JSON, at most "
            f"{limits.override_characters} are allowed (setting PRSWEB_OVERRIDE_MAX_CHARS)",
        )


@needs("depends_on")
def no_dependency_is_for_arrays(depends_on: list[Dependency]) -> Iterator[Problem]:
    yield from _array_dependencies(depends_on)


def _array_dependencies(depends_on: list[Dependency]) -> Iterator[Problem]:
    for index, one in enumerate(depends_on):
        if one.type == "N_TO_N" or (one.type == "SEQUENTIAL" and one.job is None):
            yield problem_at(("depends_on", index, "type"), "only for an array job", one.type)


MULTI_NODE_CHECKS: tuple[Check, ...] = (
    *_COMMON_CHECKS,
    nodes_are_not_too_many,
    main_node_exists,
    groups_are_few,
    ranges_fit_together,
    instance_types_are_equal,
    groups_are_not_too_long,
    no_dependency_is_for_arrays,
)


@needs("command")
def command_is_given(command: list[str]) -> Iterator[Problem]:
    if not command:
        yield problem_at(("command",), "is required: what is run")


@needs("command", "environment")
def job_is_not_too_long(
    command: list[str], environment: dict[str, str], *, limits: SpecLimits
) -> Iterator[Problem]:
    yield from _too_long((), command, environment, limits)


@needs("depends_on", "array")
def array_dependencies_have_an_array(
    depends_on: list[Dependency], array: ArraySpec | None
) -> Iterator[Problem]:
    if array is None:
        yield from _array_dependencies(depends_on)


COMMAND_CHECKS: tuple[Check, ...] = (
    *_COMMON_CHECKS,
    command_is_given,
    job_is_not_too_long,
    array_dependencies_have_an_array,
)


@needs("working_directory")
def folder_is_absolute(folder: str | None) -> Iterator[Problem]:
    if folder is not None and is_relative(folder):
        rule = "must be an absolute path; a relative one is relative to a job file on disk"
        yield problem_at(("working_directory",), rule, folder)


ABSOLUTE_CHECKS: tuple[Check, ...] = (folder_is_absolute,)


def warnings_of(spec: MultiNodeSpec | CommandSpec) -> list[str]:
    """Return what is odd and runs all the same, as sentences."""
    parts: Iterable[RunSpec] = [spec] if isinstance(spec, CommandSpec) else spec.node_groups
    names = [name for one in parts for word in one.command for name in _REFERENCE.findall(word)]
    return [
        f"Ref::{name} stays as it is written: there is no parameter {name}."
        for name in dict.fromkeys(names)
        if name not in spec.parameters
    ]
