"""Plain aligned text, a row a line, so that ``grep Failed`` finds rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

GAP = "  "


@dataclass(frozen=True)
class Column:
    title: str
    is_number: bool = False  # aligned right


def render(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return the table with its titles; of no rows, the titles alone."""
    cells = [[column.title.upper() for column in columns]]
    cells += [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        GAP.join(
            _pad(cell, width, column.is_number)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    )


def printable(text: str) -> str:
    """Return ``text`` on one line and without control codes: a job's name or an
    error's title must not move the cursor of who reads it."""
    return "".join(
        character if unicodedata.category(character)[0] != "C" else " " for character in text
    )


def _pad(cell: str, width: int, is_number: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if is_number else cell + blanks


def _width(text: str) -> int:
    """Columns of a terminal: East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)
