"""The table of keys, made from the models: help texts of the form, and the docs page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from runner.core.problems import found_text
from runner.core.specs.parsing import MODELS, inner_model


@dataclass(frozen=True)
class Key:
    """One key of a job file, in words."""

    path: str
    default: Any  # None also where there is none; see is_required
    is_required: bool
    rule: str
    help_text: str
    is_offered: bool  # in front in the resubmission form
    kind: str  # text, integer, number, boolean, names, arguments, value


def keys_of(kind: str) -> list[Key]:
    """Return the keys of one kind of job, inner ones after theirs."""
    return _keys(MODELS[kind], "")


def _keys(model: type[BaseModel], before: str) -> list[Key]:
    found = []
    for name, field in model.model_fields.items():
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        default = field.get_default(call_default_factory=True, validated_data={})
        found.append(
            Key(
                path=f"{before}{name}",
                default=None if default is PydanticUndefined else default,
                is_required=field.is_required(),
                rule=str(extra.get("rule", "")),
                help_text=field.description or "",
                is_offered=bool(extra.get("offered")),
                kind=str(extra.get("kind", "value")),
            )
        )
        if inner := inner_model(field):
            found += _keys(inner, f"{before}{name}.")
    return found


def reference_page() -> str:
    """Return ``docs/job-file.md``."""
    parts = [
        "# The job file",
        "",
        "Made from the models in `runner/core/specs`; a test compares.",
    ]
    for kind in MODELS:
        parts += [
            "",
            f"## kind: {kind}",
            "",
            "| key | default | rule | meaning |",
            "|---|---|---|---|",
        ]
        parts += [_row(one) for one in keys_of(kind)]
    return "\n".join(parts) + "\n"


def _row(one: Key) -> str:
    default = "required" if one.is_required else f"`{_default_text(one.default)}`"
    cells = (f"`{one.path}`", default, one.rule, one.help_text)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default_text(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "{}"
    return "none" if value is None else found_text(value)
