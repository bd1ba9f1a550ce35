"""The form of a resubmission: every top key as one text, those offered first in front."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.core.problems import Problem
from runner.core.specs.reference import Key, keys_of

# Not for a form: what the job is, and what only its makers write.
LEFT_OUT = ("kind", "bindings", "resume_from")
TEXT_KINDS = ("text", "integer", "number", "boolean", "size")


@dataclass(frozen=True)
class FormField:
    """One key, with the earlier value and the one in the form, both as text."""

    path: str
    old: str
    text: str
    help_text: str
    rule: str
    is_offered: bool
    is_long: bool  # lists and maps: several lines
    problem: Problem | None = None

    @property
    def is_changed(self) -> bool:
        return self.text.strip() != self.old.strip()

    def with_problem(self, problem: Problem | None) -> FormField:
        return replace(self, problem=problem)


def form_fields(spec: Mapping[str, Any], given: Mapping[str, str] | None) -> list[FormField]:
    """Return the fields in the order of the reference; ``given`` None: as the job was."""
    fields = []
    for key in keys_of(str(spec["kind"])):
        if "." in key.path or "[" in key.path or key.path in LEFT_OUT:
            continue
        old = value_text(spec.get(key.path))
        text = old if given is None else given.get(f"field-{key.path}", old)
        fields.append(_field(key, old, text.replace("\r\n", "\n")))
    return fields


def _field(key: Key, old: str, text: str) -> FormField:
    return FormField(
        path=key.path,
        old=old,
        text=text,
        help_text=key.help_text,
        rule=key.rule,
        is_offered=key.is_offered,
        is_long=key.kind not in TEXT_KINDS,
    )


def changed_values(spec: Mapping[str, Any], fields: list[FormField]) -> dict[str, Any]:
    """Return by path what the form changed: text for plain keys, values for lists and maps."""
    return {field.path: _value(field) for field in fields if field.is_changed}


def _value(field: FormField) -> Any:
    """Lists and maps are written as JSON; anything else goes on as text and is judged."""
    if not field.is_long:
        return field.text
    try:
        return json.loads(field.text) if field.text.strip() else None
    except ValueError:
        return field.text


def value_text(value: Any) -> str:
    """Return a value as its field shows it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, indent=1 if value else None)
    return json.dumps(value)
