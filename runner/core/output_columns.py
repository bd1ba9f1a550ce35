"""Which columns the rows of a segment have, and the header of the whole output. Pure.

A worker process notes them beside its segment (``wire``, COLUMNS_SUFFIX).
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_right
from collections.abc import Sequence

Columns = tuple[str, ...]


class SegmentColumns:
    """The notes of one segment, by offset."""

    def __init__(self, notes: str) -> None:
        """``notes`` is the content of the file beside it; a torn last line is dropped."""
        self._offsets: list[int] = []
        self._columns: list[Columns | None] = []
        for line in notes.splitlines():
            try:
                raw = json.loads(line)
                offset, names = int(raw["offset"]), raw["columns"]
            except (ValueError, TypeError, KeyError):
                continue
            self._offsets.append(offset)
            self._columns.append(None if names is None else tuple(map(str, names)))

    def at(self, offset: int) -> Columns | None:
        """Return the columns of the rows at ``offset``; None: they have none."""
        place = bisect_right(self._offsets, offset) - 1
        return self._columns[place] if place >= 0 else None


def header_line(columns: Sequence[str], *, separator: str) -> str:
    """Return the names as one line, in quotes where they need them."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerow(columns)
    return text.getvalue()


def unite(known: Columns, more: Columns) -> Columns:
    """Return ``known`` and the names of ``more`` that are new, in order of appearance."""
    return known + tuple(name for name in more if name not in known)
