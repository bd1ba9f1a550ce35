"""From what a person wrote to a checked specification, and back.

The one way in for job files, form, REST API and command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from runner.core.placeholders import PARAMETERS, placeholders_in
from runner.core.problems import InvalidSpec, Problem, found_text, unknown_name_rule
from runner.core.specs import multi_node_checks, step_checks
from runner.core.specs.azure import import_document
from runner.core.specs.azure.settle import settle_size
from runner.core.specs.bindings import bind_parameters
from runner.core.specs.checks import DEFAULT_LIMITS, Check, SpecLimits
from runner.core.specs.command import CommandSpec
from runner.core.specs.draft import Draft, draft_of, restore_bindings
from runner.core.specs.fields import model_at, rule_at
from runner.core.specs.formats import SpecModelClass, model_of
from runner.core.specs.multi_node import MultiNodeSpec
from runner.core.specs.parallel_run_step import ParallelRunStepSpec
from runner.core.specs.paths import NOTHING, Location, parse_path, path_text, put_at, value_at
from runner.core.specs.step_arguments import split_arguments, take_settings

Spec = ParallelRunStepSpec | MultiNodeSpec | CommandSpec
ALIAS, ALIASED = "allowed_failed_count", "mini_batch_error_threshold"


@dataclass(frozen=True)
class ParsedSpec:
    spec: Spec
    warnings: tuple[str, ...]  # sentences; they stop nothing
    given: tuple[str, ...]  # keys that were set, as paths; the others are defaults


def parse_spec(
    raw: Mapping[str, Any],
    *,
    limits: SpecLimits = DEFAULT_LIMITS,
    paths_must_be_absolute: bool = False,
) -> ParsedSpec:
    """Return the checked specification, parameters put in, of our document or of a file
    of Azure.

    ``paths_must_be_absolute``: as for a form and the API, which lie in no folder.
    Raises InvalidSpec with every problem found, in the writer's own spelling and
    in the order of the keys.
    """
    if not isinstance(raw, Mapping):
        raise InvalidSpec([Problem("", "must be a map of keys to values", found_text(raw))])
    document = import_document(raw)
    model = model_of(document)
    draft = draft_of(document)
    restore_bindings(draft.document)
    given = tuple(_given_paths(draft.document))
    if model is ParallelRunStepSpec:
        _rewrite_step(draft)
    values: dict[str, Any] = {}
    spec = _validate(model, draft, values)
    checks = _checks_of(model, paths_must_be_absolute)
    _run_checks(checks, draft, values, limits)
    if draft.problems or spec is None:
        raise InvalidSpec(_in_order(draft.problems, raw))
    return ParsedSpec(spec, (*draft.warnings, *_warnings_of(spec)), given)


def dump_spec(spec: Spec) -> dict[str, Any]:
    """Return the specification as JSON has it, every key present and in effect.

    What was put in by parameters or derived from other keys is named in
    ``bindings``, so that parsing it again gives an equal specification.
    """
    document: dict[str, Any] = spec.model_dump(mode="json")
    bindings = dict(spec.bindings)
    for path, value in spec.derived_values().items():
        location = parse_path(path)
        if location is not None and put_at(document, location, value):
            bindings[path] = None
    return {"kind": document.pop("kind"), **document, "bindings": bindings}


def _rewrite_step(draft: Draft) -> None:
    """Bring what may be written in several ways into one, and put parameters in."""
    _take_alias(draft)
    split_arguments(draft)
    take_settings(draft)
    bind_parameters(draft)
    bindings = {path_text(at): template for at, template in draft.templates.items()}
    draft.document["bindings"] = bindings
    if draft.is_imported:
        settle_size(draft)
    count = draft.document.get("rank_mini_batch_count")
    if isinstance(count, int) and not isinstance(count, bool) and count < 0:
        draft.document["rank_mini_batch_count"] = 0
        draft.warnings.append(f"rank_mini_batch_count {count} is read as 0.")


def _take_alias(draft: Draft) -> None:
    document = draft.document
    if ALIAS not in document:
        return
    written = draft.path_of((ALIAS,))
    value = document.pop(ALIAS)
    if ALIASED in document and document[ALIASED] != value:
        rule = f"is another name of {ALIASED}, which has another value: give one of the two"
        draft.problems.append(Problem(written, rule, found_text(value)))
        return
    draft.spelled[(ALIASED,)] = written
    document[ALIASED] = value


def _validate(model: SpecModelClass, draft: Draft, values: dict[str, Any]) -> Spec | None:
    """Return the spec, or None after noting the problems; ``values`` gets what passed."""
    try:
        spec = model.model_validate(draft.document, context=values)
    except ValidationError as error:
        failed = set()
        for found in error.errors(include_url=False):
            location = _location(found["loc"])
            failed.add(location[0])
            if not draft.is_told(location):
                draft.problems.append(_problem(model, found, location, draft))
        for name in failed:
            values.pop(str(name), None)
        _add_defaults(model, draft, values)
        return None
    values.update({name: getattr(spec, name) for name in type(spec).model_fields})
    return spec


def _add_defaults(model: type[BaseModel], draft: Draft, values: dict[str, Any]) -> None:
    for name, field in model.model_fields.items():
        if name not in draft.document and not field.is_required():
            values[name] = field.get_default(call_default_factory=True, validated_data={})


def _checks_of(model: SpecModelClass, paths_must_be_absolute: bool) -> Sequence[Check]:
    if model is ParallelRunStepSpec:
        checks, absolute = step_checks.CHECKS, step_checks.ABSOLUTE_CHECKS
    elif model is MultiNodeSpec:
        checks, absolute = (
            multi_node_checks.MULTI_NODE_CHECKS,
            multi_node_checks.ABSOLUTE_CHECKS,
        )
    else:
        checks, absolute = multi_node_checks.COMMAND_CHECKS, multi_node_checks.ABSOLUTE_CHECKS
    return (*checks, *absolute) if paths_must_be_absolute else checks


def _run_checks(
    checks: Sequence[Check], draft: Draft, values: Mapping[str, Any], limits: SpecLimits
) -> None:
    for check in checks:
        for problem in check(values, limits):
            location = parse_path(problem.path) or ()
            if not draft.is_told(location):
                rule = problem.rule + _origin(location, draft)
                path = draft.path_of(_as_written(location, draft.document))
                draft.problems.append(Problem(path, rule, problem.found))


def _warnings_of(spec: Spec) -> list[str]:
    if isinstance(spec, ParallelRunStepSpec):
        return step_checks.warnings_of(spec)
    return multi_node_checks.warnings_of(spec)


def _location(found: Location) -> Location:
    """Return the location without what pydantic adds for the name of a map's member."""
    return found[:-1] if found and found[-1] == "[key]" else found


def _problem(
    model: type[BaseModel], found: ErrorDetails, location: Location, draft: Draft
) -> Problem:
    path = draft.path_of(_as_written(location, draft.document))
    match found["type"]:
        case "extra_forbidden":
            known = [
                name
                for name in model_at(model, location[:-1]).model_fields
                if name != "bindings"
            ]
            return Problem(path, unknown_name_rule(str(location[-1]), known))
        case "missing":
            return Problem(path, "is required")
        case "value_error":
            rule = str(found["ctx"]["error"])
        case _:
            rule = rule_at(model, location) or found["msg"]
    rule += _quote_hint(found["type"], found["input"]) + _origin(location, draft)
    is_shown = not isinstance(found["input"], Mapping | BaseModel)
    return Problem(path, rule, found_text(found["input"]) if is_shown else None)


def _as_written(location: Location, document: Mapping[str, Any]) -> Location:
    """Cut what stands for a member of a short form: ``side_inputs.labels`` is a text."""
    for length in range(1, len(location)):
        value = value_at(document, location[:length])
        if value is not NOTHING and not isinstance(value, Mapping | list):
            return location[:length]
    return location


def _quote_hint(error: str, value: Any) -> str:
    if error in ("int_type", "float_type") and isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return ": remove the quotes"
    return ""


def _origin(location: Location, draft: Draft) -> str:
    """Return where a value came from that the writer did not write there."""
    template = draft.templates.get(location)
    used = [
        draft.path_of((PARAMETERS, one.name))
        for one in placeholders_in(template or "")
        if one.group == PARAMETERS
    ]
    return f"; the value comes from {', '.join(used)}" if used else ""


def _given_paths(value: Any, location: Location = ()) -> list[str]:
    """Return the paths of what was set, outer before inner."""
    found = [path_text(location)] if location else []
    members: Any = value.items() if isinstance(value, Mapping) else ()
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        members = enumerate(value)
    if location and location[-1] == "rows":
        return found
    for name, one in members:
        found += _given_paths(one, (*location, name))
    return found


def _in_order(problems: Sequence[Problem], raw: Mapping[str, Any]) -> list[Problem]:
    """Return them without repeats, in the order of the writer's keys, missing ones last."""
    order = {str(name): number for number, name in enumerate(raw)}

    def position(problem: Problem) -> int:
        location = parse_path(problem.path)
        return order.get(str(location[0]), len(order)) if location else -1

    return sorted(dict.fromkeys(problems), key=position)
