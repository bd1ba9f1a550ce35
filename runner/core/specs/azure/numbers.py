"""Numbers that v2 files write as text."""

from __future__ import annotations

import re
from typing import Any

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_FRACTION = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_WORDS = {"true": True, "false": False}


def number_of(value: Any) -> Any:
    """Return the number that a text stands for; anything else as it is, to be refused."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else value


def value_of_type(value: Any, kind: str) -> Any:
    """Return the value of a declared input: ``"5"`` of type integer is 5."""
    if kind in ("integer", "number"):
        return number_of(value)
    if kind == "boolean" and isinstance(value, str):
        return _WORDS.get(value.lower(), value)
    return value
