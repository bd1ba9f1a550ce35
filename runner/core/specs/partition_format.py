"""``partition_format``: the names that the parts of a path stand for."""

from __future__ import annotations

import re

from runner.core.specs.model import IDENTIFIER

RULE = "must name parts of the path, like {user}/{season}/{day:yyyy/MM/dd}.wav"
_FIELD = re.compile(r"\{([^{}:]*)(?::([^{}]*))?\}")
_DATE_WORDS = re.compile(r"(yyyy|MM|dd|HH|mm|ss|[^A-Za-z{}])+")


def names_of_format(text: str) -> list[str]:
    """Return the names in order; raise ValueError when ``text`` is no such format."""
    names = []
    for name, date in _FIELD.findall(text):
        if not IDENTIFIER.fullmatch(name):
            raise ValueError(f"{RULE}; {name!r} is no name")
        if date and not _DATE_WORDS.fullmatch(date):
            raise ValueError(
                f"a date is written with yyyy, MM, dd, HH, mm, ss, unlike {date!r}"
            )
        names.append(name)
    if not names or re.search(r"[{}]", _FIELD.sub("", text)):
        raise ValueError(RULE)
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"names {repeated} twice")
    return names
