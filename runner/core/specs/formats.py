"""Which kind of job file a document is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.problems import InvalidSpec, Problem, found_text, nearest_name
from runner.core.specs.command import CommandSpec
from runner.core.specs.multi_node import MultiNodeSpec
from runner.core.specs.parallel_run_step import ParallelRunStepSpec

SpecModelClass = type[ParallelRunStepSpec] | type[MultiNodeSpec] | type[CommandSpec]
MODELS: dict[str, SpecModelClass] = {
    "parallel_run_step": ParallelRunStepSpec,
    "multi_node": MultiNodeSpec,
    "command": CommandSpec,
}
_KINDS = ", ".join(MODELS)


def foreign_format(raw: Mapping[str, Any]) -> str | None:
    """Return the name of another system's format, or None for our own."""
    if "kind" in raw:
        return None
    if "jobDefinitionName" in raw or "jobDefinition" in raw:
        return "AWS Batch JSON"
    return None


def model_of(raw: Mapping[str, Any]) -> SpecModelClass:
    """Return the model of ``kind``, or raise InvalidSpec."""
    kind = raw.get("kind")
    if isinstance(kind, str) and kind in MODELS:
        return MODELS[kind]
    if foreign := foreign_format(raw):
        rule = (
            f"this is {foreign}, which is not read yet: write our own file, with kind: {_KINDS}"
        )
        raise InvalidSpec([Problem("kind", rule)])
    if kind is None:
        raise InvalidSpec([Problem("kind", f"is required: one of {_KINDS}")])
    near = nearest_name(kind, list(MODELS)) if isinstance(kind, str) else None
    hint = f", did you mean {near}?" if near else ""
    raise InvalidSpec([Problem("kind", f"must be one of {_KINDS}{hint}", found_text(kind))])
