"""What is wrong with a specification, worded for the person who wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

FOUND_CHARACTERS = 200  # of a found value that are repeated to its writer
# What no file, no database and no argument of a process can hold.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, with the way to it in the writer's own spelling."""

    path: str  # "inputs[0].path"; "" for the whole
    rule: str  # "must be a whole number of at least 1"
    found: str | None = None  # as text; None where there is nothing to show

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        found = f" (found: {self.found})" if self.found is not None else ""
        return f"{where}{self.rule}{found}"

    def to_dict(self) -> dict[str, str | None]:
        return asdict(self)


class InvalidSpec(ValueError):
    """The specification has problems; every one of them is named."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


def unwritable_in(text: str) -> str | None:
    """Return ``U+0000``, the first character of ``text`` that cannot be kept, or None."""
    bad = _UNWRITABLE.search(text)
    return f"U+{ord(bad[0]):04X}" if bad else None


def found_text(value: Any) -> str:
    """Return ``value`` as a reader recognises it: text with quotes, numbers without."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"  # a number of thousands of digits, a map in itself
    return text if len(text) <= FOUND_CHARACTERS else f"{text[:FOUND_CHARACTERS]}…"


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that was probably meant, or None."""
    close = get_close_matches(
        name.lower()[:100], [one.lower() for one in known], n=1, cutoff=0.6
    )
    return next((one for one in known if close and one.lower() == close[0]), None)


def unknown_name_rule(name: str, known: Sequence[str]) -> str:
    """Return ``not a known key, did you mean run_max_try?``."""
    near = nearest_name(name, known)
    if near:
        return f"not a known key, did you mean {near}?"
    return f"not a known key; the keys here are {', '.join(known)}"


def edit_distance_is_at_most(limit: int, first: str, second: str) -> bool:
    """Return whether ``limit`` letters inserted, removed or changed make one of the other."""
    if abs(len(first) - len(second)) > limit:
        return False
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        above, row = row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
    return row[-1] <= limit
