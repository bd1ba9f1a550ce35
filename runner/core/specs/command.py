"""The specification of a plain job, one command on one node, and of an array of them."""

from __future__ import annotations

from typing import Any, Literal

from runner.core.specs.gang_parts import (
    DEFAULT_MEMORY_MIB,
    DEFAULT_VCPUS,
    LEAST_MEMORY_MIB,
    GangSpec,
    RunSpec,
)
from runner.core.specs.model import SpecModel, key, whole_number, yes_or_no
from runner.core.specs.multi_node import Resources


class ArraySpec(SpecModel):
    size: int = whole_number(..., least=2, most=10_000, help_text="Children.")


class CommandSpec(GangSpec, RunSpec):
    """A plain job: one command on one node."""

    kind: Literal["command"] = key(rule="must be command", help_text="Kind of job.")
    vcpus: int = whole_number(DEFAULT_VCPUS, least=1, help_text="vCPUs of the node.")
    memory: int = whole_number(
        DEFAULT_MEMORY_MIB, least=LEAST_MEMORY_MIB, help_text="MiB of the node."
    )
    array: ArraySpec | None = key(
        None, rule="must be a map with size", help_text="Makes it an array job.", kind="value"
    )
    sequential_continue: bool = yes_or_no(
        False, help_text="SEQUENTIAL: after a child that failed go on with the next."
    )

    @property
    def resources(self) -> Resources:
        return Resources(self.vcpus, self.memory, self.gpus)

    def derived_values(self) -> dict[str, Any]:
        return {}
