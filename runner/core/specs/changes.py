"""Changing a specification key by key: ``--set``, forms, resubmission, and differences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from runner.core.problems import InvalidSpec, Problem, found_text, unknown_name_rule
from runner.core.specs.bindings import placeholders_in, split_names
from runner.core.specs.job_file import load_job_file
from runner.core.specs.parsing import inner_model, model_of, path_text

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE]-?[0-9]+)?|-?\.[0-9]+")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MOST_INDEX = 10_000


@dataclass(frozen=True)
class Change:
    """One value that differs between two specifications."""

    path: str
    old: Any
    new: Any

    def to_dict(self) -> dict[str, Any]:
        return {"path": self.path, "old": self.old, "new": self.new}


def apply_settings(raw: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``raw`` with each setting put in at its dotted path.

    Text is converted by the type of its field; other values (JSON of the API) are
    taken as they are. An empty text takes an optional value away. Raises
    InvalidSpec for paths that lead nowhere.
    """
    changed: dict[str, Any] = json.loads(json.dumps(raw))
    model = model_of(raw)
    problems = []
    for path, value in settings.items():
        try:
            _put(changed, model, path, value)
        except _BadPath as bad:
            problems.append(Problem(path, str(bad), found_text(value)))
    if problems:
        raise InvalidSpec(problems)
    return changed


def resubmission_base(
    spec: Mapping[str, Any], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a resubmission starts from: the values that really ran, with the
    placeholders of parameters back in their places, so that a changed parameter works."""
    base: dict[str, Any] = json.loads(json.dumps(spec))
    for path, text in placeholders_in(given or {}).items():
        parts = _parts(path)
        parent = _walk(base, parts[:-1])
        if parent is not None:
            _assign(parent, parts[-1], text)
    return base


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return every leaf that differs, in the order of ``new``; None stands for absent."""
    changes: list[Change] = []
    _compare("", old, new, changes)
    return changes


class _BadPath(ValueError):
    pass


def _put(raw: dict[str, Any], model: type[BaseModel], path: str, value: Any) -> None:
    parts = _parts(path)
    if not parts:
        raise _BadPath("must be a key, like run_max_try or inputs.0.path")
    kind, inner = _kind_of(model, parts)
    parent: Any = raw
    for part in parts[:-1]:
        parent = _step(parent, part)
    last = parts[-1]
    if isinstance(parent, list) and isinstance(last, int):
        if not 0 <= last <= len(parent):
            raise _BadPath(f"there are {len(parent)} entries, counted from 0")
        if last == len(parent):
            parent.append(None)
    elif isinstance(parent, list) or isinstance(last, int):
        raise _BadPath("an entry of a list is named by its number, like inputs.0")
    _assign(parent, last, _converted(value, kind, inner))


def _parts(path: str) -> list[int | str]:
    words = re.sub(r"\[(\d+)\]", r".\1", path).split(".")
    return [int(word) if word.isdecimal() and len(word) < 6 else word for word in words if word]


def _step(parent: Any, part: int | str) -> Any:
    if isinstance(parent, list):
        if not isinstance(part, int) or part >= min(len(parent), _MOST_INDEX):
            raise _BadPath(f"there are {len(parent)} entries, counted from 0")
        inner = parent[part]
    elif isinstance(parent, dict):
        inner = parent.setdefault(str(part), {})
        if inner is None:
            inner = parent[str(part)] = {}
    else:
        raise _BadPath(f"{part} lies in a value that holds nothing")
    if isinstance(inner, str):
        # The short form of a path: its map takes its place.
        inner = {"path": inner}
        _assign(parent, part, inner)
    return inner


def _walk(raw: Any, parts: list[int | str]) -> Any:
    for part in parts:
        try:
            raw = raw[part] if isinstance(raw, list) else raw[str(part)]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _assign(parent: Any, part: int | str, value: Any) -> None:
    where: Any = part if isinstance(parent, list) else str(part)
    parent[where] = value


def _kind_of(model: type[BaseModel], parts: list[int | str]) -> tuple[str, bool]:
    """Return how text at ``parts`` becomes a value, and whether it lies in free values.

    Raises _BadPath for a name that the model does not have.
    """
    current: type[BaseModel] | None = model
    kind = "value"
    seen: list[int | str] = []
    is_free = False
    for part in parts:
        seen.append(part)
        if isinstance(part, int) or is_free:
            is_free = is_free or current is None
            kind = "text" if current is None and kind in ("names", "arguments") else "value"
            continue
        if current is None:
            is_free, kind = True, "value"
            continue
        if part not in current.model_fields:
            if seen and len(seen) > 1 and _is_map(model, seen[:-1]):
                continue
            raise _BadPath(unknown_name_rule(part, list(current.model_fields)))
        field = current.model_fields[part]
        extra = field.json_schema_extra
        kind = str(extra.get("kind", "value")) if isinstance(extra, dict) else "value"
        current = inner_model(field)
        if current is None and part in (
            "parameters",
            "tags",
            "environment_variables",
            "environment",
        ):
            is_free = len(parts) > len(seen)
            kind = "value" if part == "parameters" else "text"
            if is_free:
                return kind, True
    return kind, is_free


def _is_map(model: type[BaseModel], parts: list[int | str]) -> bool:
    """Is the value at ``parts`` a map with free names (side_inputs, models, outputs)?"""
    return len(parts) == 1 and parts[0] in ("side_inputs", "models", "outputs")


def _converted(value: Any, kind: str, is_free: bool) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    if value == "" and kind in ("integer", "number", "boolean", "names"):
        return None
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text) if not _INTEGER.fullmatch(text) else int(text)
    if kind == "boolean" and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if kind == "names" and "${{" not in text:
        return split_names(text)
    if kind == "value":
        return _plain_value(value)
    return value


def _plain_value(text: str) -> Any:
    """Return the number, list or map that ``text`` writes; else the text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if text[:1] in ("[", "{"):
        try:
            return load_job_file(f"value: {text}")["value"]
        except InvalidSpec:
            return text
    if text in ("true", "false"):
        return text == "true"
    return float(text) if _NUMBER.fullmatch(text) else text


def _compare(path: str, old: Any, new: Any, changes: list[Change]) -> None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*new, *old]):
            _compare(
                path_text((path, name)) if path else name, old.get(name), new.get(name), changes
            )
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            _compare(f"{path}[{number}]", before, after, changes)
    elif old != new:
        changes.append(Change(path, old, new))
