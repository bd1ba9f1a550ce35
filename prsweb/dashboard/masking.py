"""Values that pages do not show: those whose name looks secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MASK = "••••••"
SECRET_WORDS = (
    "password",
    "secret",
    "token",
    "api_key",
    "access_key",
    "authorization",
    "connection_string",
)


def looks_secret(name: str) -> bool:
    text = name.lower().replace("-", "_")
    return any(word in text for word in SECRET_WORDS)


def masked(value: Any, name: str = "") -> Any:
    """Return plain data with every secret replaced: members of maps by their name,
    arguments by the ``--name`` before them."""
    if isinstance(value, Mapping):
        return {key: masked(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return _masked_list(value, name)
    is_secret = looks_secret(name) and isinstance(value, str | int | float)
    return MASK if is_secret and value not in ("", True, False) else value


def _masked_list(values: Sequence[Any], name: str) -> list[Any]:
    shown = []
    follows_secret = False
    for value in values:
        if not isinstance(value, str):
            shown.append(masked(value, name))
            follows_secret = False
            continue
        option, separator, _ = value.partition("=")
        is_option = value.startswith("-") and looks_secret(option)
        if follows_secret and not value.startswith("--"):
            shown.append(MASK)
        elif is_option and separator:
            shown.append(f"{option}={MASK}")
        else:
            shown.append(MASK if looks_secret(name) else value)
        follows_secret = is_option and not separator
    return shown
