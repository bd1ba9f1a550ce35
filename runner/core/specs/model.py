"""The base of every specification: strict values, and each key with its rule in words."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

INT_MAX = 2_147_483_647
THREE_DAYS_SECONDS = 259_200


class SpecModel(BaseModel):
    """Strict: a quoted number is no number, nothing is rounded, unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def key(
    default: Any = ...,
    *,
    rule: str,
    help_text: str,
    offered: bool = False,
    kind: str = "text",
    **limits: Any,
) -> Any:
    """Return a field whose ``rule`` is what a person reads when a value breaks it.

    ``offered``: stands in front in the resubmission form. ``kind``: how text of a
    form or of ``--set`` becomes a value: text, integer, number, boolean, names, value.
    """
    extra: JsonDict = {"rule": rule, "offered": offered, "kind": kind}
    if default is not ... and isinstance(default, list | dict):
        kept = default
        return Field(
            default_factory=lambda: type(kept)(kept),
            description=help_text,
            json_schema_extra=extra,
            **limits,
        )
    return Field(default, description=help_text, json_schema_extra=extra, **limits)


def whole_number(
    default: Any = None,
    *,
    least: int,
    most: int = INT_MAX,
    help_text: str,
    offered: bool = False,
    rule: str = "",
) -> Any:
    bounds = f" of at least {least}" if most == INT_MAX else f" from {least} to {most}"
    if least == -1 and most == INT_MAX:
        bounds = ", -1 or more"
    return key(
        default,
        rule=rule or f"must be a whole number{bounds}",
        help_text=help_text,
        offered=offered,
        kind="integer",
        ge=least,
        le=most,
    )


def timeout_seconds(default: float | None, *, help_text: str, offered: bool = False) -> Any:
    return key(
        default,
        rule=f"must be a number of seconds above 0, at most {THREE_DAYS_SECONDS}",
        help_text=help_text,
        offered=offered,
        kind="number",
        gt=0,
        le=THREE_DAYS_SECONDS,
    )
