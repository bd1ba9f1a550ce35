"""Putting parameters in where a job file says ``${{parameters.X}}``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.core.placeholders import (
    LATE_GROUPS,
    PARAMETERS,
    Placeholder,
    broken_placeholders,
    fill_placeholders,
    placeholders_in,
    whole_placeholder,
)
from runner.core.problems import nearest_name
from runner.core.specs.draft import Draft
from runner.core.specs.paths import Location

# Their values are text on every node, so that late names may stand in them and
# a parameter of any type becomes text.
TEXT_KEYS = ("arguments", "environment_variables")
_KEPT = ("parameters", "bindings", "rows")  # data, no references


def bind_parameters(draft: Draft) -> None:
    """Put the parameters in. A value that is one placeholder takes the parameter's
    type; inside longer text it becomes text.

    The names of the other groups are only checked: nodes fill them in when the
    job starts.
    """
    names = _known_names(draft.document)
    draft.document = _bind(draft.document, (), draft, names)
    keys = draft.document.get("partition_keys")
    if isinstance(keys, str) and ("partition_keys",) in draft.templates:
        draft.document["partition_keys"] = split_names(keys)


def split_names(text: str) -> list[Any]:
    """Return the names of ``Store,Brand`` or of a JSON list."""
    if text.lstrip().startswith("["):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            return [text]
        return names if isinstance(names, list) else [text]
    return [name.strip() for name in text.split(",")]


def _known_names(document: Mapping[str, Any]) -> dict[str, list[str]]:
    known = {}
    for group in (PARAMETERS, *LATE_GROUPS):
        value = document.get(group)
        if isinstance(value, list):
            value = [one.get("name") for one in value if isinstance(one, Mapping)]
        known[group] = (
            [str(name) for name in value] if isinstance(value, Mapping | list) else []
        )
    return known


def _bind(value: Any, location: Location, draft: Draft, names: dict[str, list[str]]) -> Any:
    if location and location[-1] in _KEPT:
        return value
    if isinstance(value, dict):
        return {k: _bind(one, (*location, k), draft, names) for k, one in value.items()}
    if isinstance(value, list):
        return [_bind(one, (*location, i), draft, names) for i, one in enumerate(value)]
    if not isinstance(value, str) or "${{" not in value:
        return value
    rule = _broken_rule(value, location, names)
    if rule is not None:
        draft.refuse(location, rule, value)
        return value
    return _filled(value, location, draft)


def _broken_rule(text: str, location: Location, names: dict[str, list[str]]) -> str | None:
    for broken in broken_placeholders(text):
        return f"{broken} is no reference: one is written ${{{{parameters.NAME}}}}"
    for one in placeholders_in(text):
        if one.group not in names:
            return f"there is no {one}; references name {', '.join(names)}"
        if one.name not in names[one.group]:
            return _unknown_rule(one, names[one.group])
        if one.group != PARAMETERS and location[0] not in TEXT_KEYS:
            where = " and ".join(TEXT_KEYS)
            return f"{one} is known when the job starts: it may stand in {where} only"
    return None


def _unknown_rule(one: Placeholder, known: list[str]) -> str:
    near = nearest_name(one.name, known)
    if near:
        return f"there is no {one}, did you mean {one.group}.{near}?"
    return f"there is no {one}; {one.group} has {', '.join(known) or 'no names'}"


def _filled(text: str, location: Location, draft: Draft) -> Any:
    used = [one.name for one in placeholders_in(text) if one.group == PARAMETERS]
    if not used:
        return text
    parameters = draft.document[PARAMETERS]
    draft.templates[location] = text
    if whole_placeholder(text) and location[0] not in TEXT_KEYS:
        return parameters[used[0]]
    for name in used:
        if isinstance(parameters[name], list | dict):
            rule = f"takes a single value, and parameters.{name} holds several"
            draft.refuse(location, rule, parameters[name])
            return text
    return fill_placeholders(text, {PARAMETERS: {name: str(parameters[name]) for name in used}})
