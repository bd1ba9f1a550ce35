"""The way to a value of a specification: ``inputs[0].path``, and its writing as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Location = tuple[int | str, ...]

_PART = re.compile(r"""\.?(?:([^.\[\]]+)|\[([0-9]{1,6})\]|\[("(?:[^"\\]|\\.)*")\])""")
_PLAIN_NAME = re.compile(r"[^.\[\]]+")
NOTHING = object()  # what ``value_at`` gives where there is nothing; None is a value


def path_text(location: Location) -> str:
    """Return ``inputs[0].path`` for ``("inputs", 0, "path")``; a name with a dot is quoted."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_NAME.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def parse_path(text: str) -> Location | None:
    """Return the location that ``text`` names, or None if it is no path.

    A number names an entry of a list in both spellings, ``inputs.0`` and
    ``inputs[0]``; a name of digits only in a map is found all the same.
    """
    parts: list[int | str] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or (at == 0 and text.startswith(".")):
            return None
        name, index, quoted = match.groups()
        if quoted is not None:
            try:
                parts.append(str(json.loads(quoted)))
            except ValueError:
                return None
        elif index is not None:
            parts.append(int(index))
        else:
            is_index = parts and name.isascii() and name.isdecimal() and len(name) <= 6
            parts.append(int(name) if is_index else name)
        at = match.end()
    return tuple(parts) or None


def value_at(document: Any, location: Location) -> Any:
    """Return the value there, or NOTHING."""
    for part in location:
        if isinstance(document, Mapping):
            document = document.get(str(part), NOTHING)
        elif isinstance(document, list) and isinstance(part, int) and part < len(document):
            document = document[part]
        else:
            return NOTHING
    return document


def put_at(document: dict[str, Any], location: Location, value: Any) -> bool:
    """Put ``value`` there and return True; False if no map or list entry is there for it."""
    parent, last = value_at(document, location[:-1]), location[-1]
    if isinstance(parent, dict):
        parent[str(last)] = value
        return True
    if isinstance(parent, list) and isinstance(last, int) and last < len(parent):
        parent[last] = value
        return True
    return False


def remove_at(document: dict[str, Any], location: Location) -> None:
    """Remove the member of a map; anything else is left as it is."""
    parent = value_at(document, location[:-1])
    if isinstance(parent, dict):
        parent.pop(str(location[-1]), None)
