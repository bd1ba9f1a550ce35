"""The specifications of multi-node and plain jobs.

Source: AWS Batch job definitions,
https://docs.aws.amazon.com/batch/latest/userguide/job_definition_parameters.html
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, field_validator, model_validator

from runner.core.specs.model import SpecModel, key, whole_number
from runner.core.specs.node_ranges import (
    BadRange,
    NodeRange,
    check_ranges,
    parse_range,
    range_of,
)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
NAME_RULE = "must be 1-128 letters, digits, - and _, beginning with a letter or digit"
LEAST_TIMEOUT_SECONDS = 60
MOST_NODES = 1000
MOST_GROUPS = 5
MOST_DEPENDENCIES = 20


def _shell_command(value: Any) -> Any:
    """A text is run by a shell."""
    return ["sh", "-c", value] if isinstance(value, str) else value


Command = Annotated[list[str], BeforeValidator(_shell_command)]


class _Resources(SpecModel):
    """What both a node group and a plain job have."""

    command: Command = key(
        [], rule="must be a list of text", help_text="What is run.", kind="value"
    )
    environment: dict[str, str] = key(
        {}, rule="must be text: quote it", help_text="Environment variables.", kind="value"
    )
    image: str | None = key(None, rule="must be text", help_text="Recorded, not used.")
    vcpus: int = whole_number(1, least=1, help_text="vCPUs of a node.")
    memory: int = whole_number(256, least=4, help_text="MiB of a node.")
    gpus: int = whole_number(0, least=0, help_text="GPUs of a node.")

    @field_validator("command")
    @classmethod
    def _no_empty_words(cls, value: list[str]) -> list[str]:
        if any(not word or "\0" in word for word in value):
            raise ValueError("must hold no empty text and no NUL character")
        return value

    @field_validator("environment")
    @classmethod
    def _variables(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not name or "=" in name or "\0" in name + text:
                raise ValueError(f"{name!r} is no name of a variable")
            if name.startswith("AWS_BATCH"):
                raise ValueError(f"names beginning AWS_BATCH are set by us, unlike {name!r}")
        return value


class NodeGroup(_Resources):
    nodes: str = key(rule="must be a range like 0, 1: or 2:5", help_text="Its nodes.")
    instance_type: str | None = key(None, rule="must be text", help_text="Type of node.")


class ExitRule(SpecModel):
    on_status_reason: str | None = key(None, rule="must be text", help_text="Pattern.")
    on_reason: str | None = key(None, rule="must be text", help_text="Pattern.")
    on_exit_code: str | None = key(
        None, rule="must be digits in quotes, maybe with * at the end", help_text="Pattern."
    )
    action: Annotated[
        Literal["retry", "exit"],
        BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
    ] = key(rule="must be retry or exit", help_text="What follows.")

    @model_validator(mode="after")
    def _has_condition(self) -> ExitRule:
        if self.on_status_reason is self.on_reason is self.on_exit_code is None:
            raise ValueError("needs on_status_reason, on_reason or on_exit_code")
        return self


class RetrySpec(SpecModel):
    attempts: int = whole_number(1, least=1, most=10, help_text="Attempts in all.")
    evaluate_on_exit: list[ExitRule] = key(
        [],
        rule="must be a list of at most 5 rules",
        help_text="Which failures are tried again.",
        kind="value",
        max_length=5,
    )


class Dependency(SpecModel):
    job: str | None = key(None, rule="must be a job id", help_text="Job waited for.")
    type: Literal["SEQUENTIAL", "N_TO_N"] | None = key(
        None, rule="must be SEQUENTIAL or N_TO_N", help_text="For arrays."
    )

    @model_validator(mode="after")
    def _names_something(self) -> Dependency:
        if self.job is None and self.type != "SEQUENTIAL":
            raise ValueError("job: is required")
        return self


class _Batch(SpecModel):
    """What every job of AWS Batch's contract has."""

    name: str = key(rule=NAME_RULE, help_text="Name of the job.")
    description: str = key("", rule="must be text", help_text="What the job is for.")
    queue: str = key("default", rule="must be text", help_text="Job queue.")
    parameters: dict[str, str] = key(
        {}, rule="must be text: quote it", help_text="Values for Ref::name.", kind="value"
    )
    working_directory: str | None = key(
        None, rule="must be the path of a folder", help_text="Copied at submission."
    )
    depends_on: list[Dependency] = key(
        [],
        rule="must be a list of at most 20 dependencies",
        help_text="Jobs that must end first.",
        kind="value",
        max_length=MOST_DEPENDENCIES,
    )
    depends_when: Literal["succeeded", "ended"] = key(
        "succeeded", rule="must be succeeded or ended", help_text="When one is met."
    )
    retry: RetrySpec = key(
        RetrySpec(), rule="must be a map", help_text="Attempts.", kind="value"
    )
    timeout: int | None = whole_number(
        None,
        least=LEAST_TIMEOUT_SECONDS,
        help_text="Seconds of an attempt.",
        rule=f"must be a whole number of seconds, at least {LEAST_TIMEOUT_SECONDS}",
    )
    tags: dict[str, str] = key(
        {}, rule="must be text: quote it", help_text="Words to find it by.", kind="value"
    )
    stop_grace_seconds: float = key(
        30.0,
        rule="must be a number of seconds from 0 to 3600",
        help_text="Between SIGTERM and SIGKILL.",
        kind="number",
        ge=0,
        le=3600,
    )
    allow_reuse: bool = key(
        False, rule="must be true or false", help_text="Has no effect here.", kind="boolean"
    )

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError(NAME_RULE)
        return value


class MultiNodeSpec(_Batch):
    """One job over several nodes; the main node decides."""

    kind: Literal["multi_node"] = key(rule="must be multi_node", help_text="Kind of job.")
    nodes: int = whole_number(
        least=1, most=MOST_NODES, default=..., help_text="Nodes.", offered=True
    )
    main_node: int = whole_number(0, least=0, help_text="Index of the main node.")
    node_groups: list[NodeGroup] = key(
        rule="must be a list of 1 to 5 node groups",
        help_text="Which nodes run what.",
        kind="value",
        min_length=1,
    )
    fail_on_child_failure: bool = key(
        False,
        rule="must be true or false",
        help_text="A child's failure ends it.",
        kind="boolean",
    )
    allow_mixed_instance_types: bool = key(
        False, rule="must be true or false", help_text="Groups may differ.", kind="boolean"
    )
    shared_dir: bool = key(
        True, rule="must be true or false", help_text="A folder for all nodes.", kind="boolean"
    )

    @model_validator(mode="after")
    def _layout(self) -> MultiNodeSpec:
        if self.main_node >= self.nodes:
            raise ValueError(
                f"main_node: must be a node index from 0 to {self.nodes - 1} "
                f"(nodes is {self.nodes})"
            )
        if len(self.node_groups) > MOST_GROUPS:
            raise ValueError(
                f"node_groups: at most {MOST_GROUPS} node ranges, got {len(self.node_groups)}"
            )
        try:
            check_ranges(self.ranges(), self.nodes)
        except BadRange as bad:
            raise ValueError(f"node_groups: {bad}") from None
        types = {group.instance_type for group in self.node_groups if group.instance_type}
        if len(types) > 1 and not self.allow_mixed_instance_types:
            raise ValueError(
                f"node_groups: all must name one instance_type, not {', '.join(sorted(types))}"
            )
        return self

    def ranges(self) -> list[NodeRange]:
        """Return the ranges of the groups, in the order of the list. Raises BadRange."""
        return [parse_range(group.nodes, self.nodes) for group in self.node_groups]

    def group_of(self, index: int) -> NodeGroup:
        """Return the group that node ``index`` follows."""
        return self.node_groups[range_of(self.ranges(), index)]

    def warnings(self) -> list[str]:
        return (
            ["no time limit: a job that hangs runs until it is cancelled."]
            if not self.timeout
            else []
        )


class ArraySpec(SpecModel):
    size: int = whole_number(default=..., least=2, most=10_000, help_text="Children.")


class CommandSpec(_Batch, _Resources):
    """A plain job: one command on one node."""

    kind: Literal["command"] = key(rule="must be command", help_text="Kind of job.")
    instance_type: str | None = key(None, rule="must be text", help_text="Type of node.")
    array: ArraySpec | None = key(
        None, rule="must be a map", help_text="Children.", kind="value"
    )
    sequential_continue: bool = key(
        False, rule="must be true or false", help_text="Go on after a failure.", kind="boolean"
    )

    def warnings(self) -> list[str]:
        return []
