"""Hide values whose name says that they are secret, in what we write for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
_NAME = re.compile(
    r"pass(word|wd|phrase)?|secret|token|credential|api_?key|access_?key|private_?key|sas|pwd",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a variable or argument of that name looks secret."""
    return bool(_NAME.search(name))


def mask_arguments(arguments: list[Any]) -> list[Any]:
    """Return the arguments, ``--token X`` and ``--token=X`` without X."""
    masked: list[Any] = []
    is_value = False
    for argument in arguments:
        text = str(argument)
        name, equals, _ = text.partition("=")
        is_named = text.startswith("-") and is_secret_name(name)
        if is_value and not text.startswith("--"):
            masked.append(MASK)
        elif is_named and equals:
            masked.append(f"{name}={MASK}")
        else:
            masked.append(argument)
        is_value = is_named and not equals
    return masked


def mask_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a job's specification that may be shown."""
    shown = dict(spec)
    variables = spec.get("environment_variables")
    if isinstance(variables, Mapping):
        shown["environment_variables"] = {
            name: MASK if is_secret_name(name) else value for name, value in variables.items()
        }
    if isinstance(spec.get("arguments"), list):
        shown["arguments"] = mask_arguments(spec["arguments"])
    parameters = spec.get("parameters")
    if isinstance(parameters, Mapping):
        shown["parameters"] = {
            name: MASK if is_secret_name(name) else value for name, value in parameters.items()
        }
    return shown
