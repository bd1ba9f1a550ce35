"""``${{parameters.X}}`` and its kin in a job file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from runner.core.problems import Problem, nearest_name

_PLACEHOLDER = re.compile(r"\$\{\{\s*([A-Za-z_]+)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_ANY = re.compile(r"\$\{\{(.*?)\}\}")
LATE_GROUPS = ("inputs", "side_inputs", "models", "outputs")  # known when the job starts


def bind_parameters(raw: dict[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Return ``raw`` with its parameters put in, and what is wrong with placeholders.

    A value that is one placeholder takes the parameter's type; inside longer text
    it becomes text. The other groups are only checked: they stay for the nodes.
    """
    names = _known_names(raw)
    problems: list[Problem] = []
    bound = {
        key: value if key == "parameters" else _bind(value, key, names, raw, problems)
        for key, value in raw.items()
    }
    keys = bound.get("partition_keys")
    if isinstance(keys, str) and _PLACEHOLDER.search(str(raw.get("partition_keys"))):
        bound["partition_keys"] = split_names(keys)
    return bound, problems


def split_names(text: str) -> list[str]:
    """Return the names of ``Store,Brand`` or of a JSON list."""
    if text.lstrip().startswith("["):
        try:
            names = json.loads(text)
        except ValueError:
            return [text]
        return names if isinstance(names, list) else [text]
    return [name.strip() for name in text.split(",")]


def placeholders_in(raw: Any, path: str = "") -> dict[str, str]:
    """Return by path the texts that hold ``${{parameters…}}``: where a resubmission
    puts them in again."""
    if isinstance(raw, str):
        uses = any(match[1] == "parameters" for match in _PLACEHOLDER.finditer(raw))
        return {path: raw} if uses else {}
    found: dict[str, str] = {}
    members = (
        raw.items()
        if isinstance(raw, Mapping)
        else enumerate(raw)
        if isinstance(raw, list)
        else ()
    )
    for name, value in members:
        found |= placeholders_in(value, f"{path}.{name}" if path else str(name))
    return found


def _known_names(raw: Mapping[str, Any]) -> dict[str, list[str]]:
    known = {}
    for group in ("parameters", *LATE_GROUPS):
        value = raw.get(group)
        if isinstance(value, Mapping):
            known[group] = [str(name) for name in value]
        elif isinstance(value, list):
            known[group] = [
                str(one["name"]) for one in value if isinstance(one, Mapping) and "name" in one
            ]
        else:
            known[group] = []
    return known


def _bind(
    value: Any,
    path: str,
    names: dict[str, list[str]],
    raw: Mapping[str, Any],
    problems: list[Problem],
) -> Any:
    if isinstance(value, Mapping):
        return {k: _bind(v, f"{path}.{k}", names, raw, problems) for k, v in value.items()}
    if isinstance(value, list):
        return [_bind(v, f"{path}[{i}]", names, raw, problems) for i, v in enumerate(value)]
    if not isinstance(value, str) or "${{" not in value:
        return value
    for text in _ANY.findall(value):
        if problem := _check(text.strip(), path, names, value):
            problems.append(problem)
            return value
    parameters = raw.get("parameters") or {}
    whole = _PLACEHOLDER.fullmatch(value.strip())
    if whole and whole[1] == "parameters":
        return parameters[whole[2]]
    return _PLACEHOLDER.sub(
        lambda match: _as_text(parameters[match[2]]) if match[1] == "parameters" else match[0],
        value,
    )


def _check(text: str, path: str, names: dict[str, list[str]], value: str) -> Problem | None:
    group, _, name = text.partition(".")
    if group not in names:
        return Problem(path, f"knows only {', '.join(names)} inside ${{{{…}}}}", value)
    if name not in names[group]:
        near = nearest_name(name, names[group])
        hint = f", did you mean {near}?" if near else ""
        return Problem(path, f"there is no {group}.{name}{hint}", value)
    return None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
