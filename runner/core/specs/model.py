"""The base of every specification: strict values, and each key with its rule in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
)
from pydantic.config import JsonDict

INT_MAX = 2_147_483_647
THREE_DAYS_SECONDS = 259_200
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
IDENTIFIER_RULE = "the name must be letters, digits and _, not beginning with a digit"


class SpecModel(BaseModel):
    """Strict: a quoted number is no number, nothing is rounded, unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class JobSpec(SpecModel):
    """The base of the specification of each kind.

    Checked by ``parse_spec`` only: rules over several keys stand in the check
    modules, so that they are told together with those of single keys.
    """

    @field_validator("*", mode="after")
    @classmethod
    def _note(cls, value: Any, info: ValidationInfo) -> Any:
        """Keep each value that passed, for the checks over several keys."""
        if isinstance(info.context, dict) and info.field_name is not None:
            info.context[info.field_name] = value
        return value


def _written_short(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


# A number that allows fractions; written as 60, not 60.0, as people and scripts do.
Number = Annotated[float, PlainSerializer(_written_short, when_used="json")]


def _identifier(name: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise ValueError(IDENTIFIER_RULE)
    return name


Identifier = Annotated[str, AfterValidator(_identifier)]


def key(
    default: Any = ...,
    *,
    rule: str,
    help_text: str,
    inner_rule: str = "",
    offered: bool = False,
    kind: str = "text",
    **limits: Any,
) -> Any:
    """Return a field whose ``rule`` is what a person reads when a value breaks it.

    ``inner_rule``: the same for an entry of a list or a value of a map.
    ``offered``: stands in front in the resubmission form. ``kind``: what it is,
    and how text of a form or of ``--set`` becomes a value: text, integer, number,
    boolean, size, names (a list of text), arguments, texts (a map of text), value.
    """
    extra: JsonDict = {"rule": rule, "inner_rule": inner_rule, "offered": offered, "kind": kind}
    described: dict[str, Any] = {"description": help_text, "json_schema_extra": extra}
    if isinstance(default, list | dict):
        return Field(default_factory=_maker(default), **described, **limits)
    return Field(default, **described, **limits)


def _maker(default: list[Any] | dict[str, Any]) -> Callable[[], Any]:
    return lambda: type(default)(default)


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


def yes_or_no(default: bool | None, *, help_text: str) -> Any:
    return key(default, rule="must be true or false", help_text=help_text, kind="boolean")
