"""The fields of the resubmission form: one for each value of a job's specification."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.core.problems import Problem
from runner.core.specs.paths import Location, path_text
from runner.core.specs.reference import Key, keys_of

NOT_CHANGED_HERE = ("kind",)
LONG_KINDS = ("arguments", "command", "value", "texts", "parameters")
ENTRY, NAME = "[]", "NAME"  # in the path of a Key


@dataclass(frozen=True)
class SettingField:
    path: str  # "inputs[0].path", also the name of the form's control
    text: str  # the value that ran, as the form shows it
    entered: str  # what stands in the form now
    key: Key
    problems: tuple[str, ...] = ()

    @property
    def element_id(self) -> str:
        return "set-" + self.path.replace("[", "-").replace("]", "").replace(".", "-")

    @property
    def is_changed(self) -> bool:
        return self.entered != self.text

    @property
    def is_offered(self) -> bool:
        return self.key.is_offered

    @property
    def is_long(self) -> bool:
        return self.key.kind in LONG_KINDS or len(self.text) > 80

    @property
    def default_text(self) -> str:
        return "" if self.key.is_required else value_text(self.key.default, self.key.kind)


def setting_fields(kind: str, spec: Mapping[str, Any]) -> list[SettingField]:
    """Return a field per value, in the order of the reference; the entries of lists
    and maps that the specification has, no empty ones."""
    keys = keys_of(kind)
    parents = {key.path.rpartition(".")[0].removesuffix(f".{NAME}") for key in keys}
    parents |= {parent.removesuffix(ENTRY) for parent in parents}
    fields: list[SettingField] = []
    for key in keys:
        if key.path in parents or key.path in NOT_CHANGED_HERE:
            continue
        for location, value in _values(spec, _parts(key.path), ()):
            fields += _fields(key, location, value)
    return fields


def with_entries(
    fields: Sequence[SettingField], entered: Mapping[str, str]
) -> list[SettingField]:
    """Return the fields with what a form brought; one that it lacks is unchanged."""
    return [
        replace(one, entered=_one_line_end(entered.get(one.path, one.text))) for one in fields
    ]


def with_problems(
    fields: Sequence[SettingField], problems: Sequence[Problem]
) -> tuple[list[SettingField], list[Problem]]:
    """Return the fields with the problems that lie at them, and the other problems."""
    left = []
    found: dict[str, list[str]] = {}
    paths = {one.path for one in fields}
    for problem in problems:
        path = _nearest(problem.path, paths)
        if path is None:
            left.append(problem)
        else:
            found.setdefault(path, []).append(str(replace(problem, path="")))
    return [replace(one, problems=tuple(found.get(one.path, ()))) for one in fields], left


def changed_values(fields: Sequence[SettingField]) -> dict[str, str]:
    """Return what was changed, as ``apply_settings`` takes it."""
    return {one.path: one.entered for one in fields if one.is_changed}


def value_text(value: Any, kind: str) -> str:
    """Return the value as text from which ``apply_settings`` makes it again; "" for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if kind == "names" and isinstance(value, list):
        return ", ".join(map(str, value))
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    return json.dumps(value, ensure_ascii=False)


def _fields(key: Key, location: Location, value: Any) -> Iterator[SettingField]:
    """One field; of parameters one each, for their types follow from their values."""
    if key.kind == "parameters" and isinstance(value, dict) and value:
        for name, inner in value.items():
            one = replace(key, kind="boolean" if isinstance(inner, bool) else "parameter")
            text = value_text(inner, "parameter")
            yield SettingField(path_text((*location, name)), text, text, one)
        return
    text = value_text(value, key.kind)
    yield SettingField(path_text(location), text, text, key)


def _parts(path: str) -> list[str]:
    return path.replace(ENTRY, f".{ENTRY}").split(".")


def _values(value: Any, parts: list[str], at: Location) -> Iterator[tuple[Location, Any]]:
    """Give every location that the parts fit, and what stands there."""
    if not parts:
        yield at, value
        return
    first, rest = parts[0], parts[1:]
    if first == ENTRY:
        entries = value if isinstance(value, list) else []
        for index, entry in enumerate(entries):
            yield from _values(entry, rest, (*at, index))
    elif first == NAME:
        members = value if isinstance(value, Mapping) else {}
        for name, member in members.items():
            yield from _values(member, rest, (*at, name))
    else:
        inner = value.get(first) if isinstance(value, Mapping) else None
        yield from _values(inner, rest, (*at, first))


def _nearest(path: str, paths: set[str]) -> str | None:
    """Return the field at ``path``, or the one that holds it as a whole."""
    while path:
        if path in paths:
            return path
        cut = max(path.rfind("."), path.rfind("["))
        path = path[:cut] if cut > 0 else ""
    return None


def _one_line_end(text: str) -> str:
    """Browsers send CR LF from a text area."""
    return text.replace("\r\n", "\n")
