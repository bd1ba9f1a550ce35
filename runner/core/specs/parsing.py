"""From what a person wrote to a checked specification, and back.

The one way in for job files, form, REST API and command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from runner.core.problems import InvalidSpec, Problem, found_text, unknown_name_rule
from runner.core.specs.bindings import bind_parameters
from runner.core.specs.multi_node import CommandSpec, MultiNodeSpec
from runner.core.specs.parallel_run_step import ParallelRunStepSpec

Spec = ParallelRunStepSpec | MultiNodeSpec | CommandSpec
MODELS: dict[str, type[ParallelRunStepSpec] | type[MultiNodeSpec] | type[CommandSpec]] = {
    "parallel_run_step": ParallelRunStepSpec,
    "multi_node": MultiNodeSpec,
    "command": CommandSpec,
}
_FOREIGN_KEYS = ("parallel_run_config", "jobDefinitionName", "jobDefinition", "$schema")
Location = tuple[int | str, ...]


@dataclass(frozen=True)
class ParsedSpec:
    spec: Spec
    warnings: tuple[str, ...]  # sentences; they stop nothing
    given: tuple[str, ...]  # keys that were set, as paths; the others are defaults


def parse_spec(raw: Mapping[str, Any]) -> ParsedSpec:
    """Return the checked specification, parameters put in.

    Raises InvalidSpec with every problem found, in the writer's own spelling.
    """
    model = model_of(raw)
    bound, problems = bind_parameters(dict(raw))
    try:
        spec = model.model_validate(bound)
    except ValidationError as error:
        unbound = {problem.path for problem in problems}
        found = [_problem(model, one) for one in error.errors(include_url=False)]
        problems += [problem for problem in found if problem.path not in unbound]
    else:
        if not problems:
            return ParsedSpec(spec, tuple(spec.warnings()), tuple(_paths(raw)))
    raise InvalidSpec(_without_repeats(problems))


def model_of(
    raw: Mapping[str, Any],
) -> type[ParallelRunStepSpec] | type[MultiNodeSpec] | type[CommandSpec]:
    """Return the model of ``kind``, or raise InvalidSpec."""
    kind = raw.get("kind")
    if isinstance(kind, str) and kind in MODELS:
        return MODELS[kind]
    known = ", ".join(MODELS)
    if kind is None and any(name in raw for name in (*_FOREIGN_KEYS, "type")):
        raise InvalidSpec(
            [
                Problem(
                    "kind", f"only our own job files are read so far, with kind one of {known}"
                )
            ]
        )
    if kind is None:
        raise InvalidSpec([Problem("kind", f"is required: one of {known}")])
    raise InvalidSpec([Problem("kind", f"must be one of {known}", found_text(kind))])


def dump_spec(spec: Spec) -> dict[str, Any]:
    """Return the specification as JSON has it, every key present; parsed again it is equal."""
    return spec.model_dump(mode="json")


def _problem(model: type[BaseModel], found: ErrorDetails) -> Problem:
    location = _named(found["loc"])
    if found["type"] == "extra_forbidden":
        known = list(_model_at(model, location[:-1]).model_fields)
        return Problem(path_text(location), unknown_name_rule(str(location[-1]), known))
    if found["type"] == "missing":
        return Problem(path_text(location), "is required")
    if found["type"] == "value_error":
        rule = str(found["ctx"]["error"])
        path, separator, rest = rule.partition(": ")
        if isinstance(found["input"], Mapping | BaseModel):
            # A check over several keys begins with the one that it blames.
            if separator and path.isidentifier():
                return Problem(
                    path_text((*location, path)), rest, _found_at(found["input"], path)
                )
            return Problem(path_text(location), rule)
        return Problem(path_text(location), rule, found_text(found["input"]))
    rule = _rule_at(model, location) or found["msg"]
    return Problem(path_text(location), rule, found_text(found["input"]))


def _found_at(value: Any, name: str) -> str | None:
    inner = value.get(name) if isinstance(value, Mapping) else None
    return found_text(inner) if isinstance(inner, str | int | float) else None


def _named(location: Location) -> Location:
    """Drop what pydantic adds for wrapped types, ``function-before[...]`` and the like."""
    return tuple(
        part
        for part in location
        if not (isinstance(part, str) and ("[" in part or "(" in part))
    )


def path_text(location: Location) -> str:
    """Return ``inputs[0].path`` for ``("inputs", 0, "path")``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _rule_at(model: type[BaseModel], location: Location) -> str | None:
    """Return the rule in words of the innermost key that ``location`` names."""
    rule: str | None = None
    for field in _fields_along(model, location):
        extra = field.json_schema_extra
        if isinstance(extra, dict) and "rule" in extra:
            rule = str(extra["rule"])
    return rule


def _model_at(model: type[BaseModel], location: Location) -> type[BaseModel]:
    current = model
    for field in _fields_along(model, location):
        current = inner_model(field) or current
    return current


def _fields_along(model: type[BaseModel], location: Location) -> list[FieldInfo]:
    fields = []
    current: type[BaseModel] | None = model
    for part in location:
        if current is not None and isinstance(part, str) and part in current.model_fields:
            field = current.model_fields[part]
            fields.append(field)
            current = inner_model(field)
    return fields


def inner_model(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model inside a field's type: of itself, its elements or its values."""
    return _model_in(field.annotation)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, dict, Union, UnionType, Annotated):
        for argument in get_args(annotation):
            if found := _model_in(argument):
                return found
    return None


def _paths(raw: Mapping[str, Any], before: str = "") -> list[str]:
    found = []
    for name, value in raw.items():
        path = f"{before}{name}"
        found.append(path)
        if isinstance(value, Mapping):
            found += _paths(value, f"{path}.")
    return found


def _without_repeats(problems: list[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))
