"""``${{group.name}}`` in the values of a job: found at submission, filled in on the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PARAMETERS = "parameters"
LATE_GROUPS = ("inputs", "side_inputs", "models", "outputs")  # known when the job starts

_PLACEHOLDER = re.compile(r"\$\{\{\s*([A-Za-z_]+)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_ANY = re.compile(r"\$\{\{(.*?)(\}\}|$)", re.DOTALL)


@dataclass(frozen=True)
class Placeholder:
    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}.{self.name}"


def placeholders_in(text: str) -> list[Placeholder]:
    """Return the placeholders in order; what only looks like one is left out."""
    return [Placeholder(*match.groups()) for match in _PLACEHOLDER.finditer(text)]


def whole_placeholder(text: str) -> Placeholder | None:
    """Return the placeholder that ``text`` is, or None if it is longer text."""
    match = _PLACEHOLDER.fullmatch(text.strip())
    return Placeholder(*match.groups()) if match else None


def broken_placeholders(text: str) -> Iterator[str]:
    """Yield what begins as a placeholder and is none."""
    for match in _ANY.finditer(text):
        if not _PLACEHOLDER.fullmatch(match[0]):
            yield match[0]


def without_blanks(text: str) -> str:
    """Return ``text`` with ``${{ a.b }}`` written ``${{a.b}}``."""
    return _PLACEHOLDER.sub(lambda match: f"${{{{{match[1]}.{match[2]}}}}}", text)


def fill_placeholders(text: str, values: Mapping[str, Mapping[str, str]]) -> str:
    """Return ``text`` with each placeholder replaced by ``values[group][name]``.

    One without a value stays as it is.
    """
    return _PLACEHOLDER.sub(
        lambda match: values.get(match[1], {}).get(match[2], match[0]), text
    )
