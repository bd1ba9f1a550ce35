"""The rows that one try has written to its process's segment."""

from __future__ import annotations

import json
from pathlib import Path

from runner.core.wire_format import wire


def read_rows(segment: Path, offset: int, length: int) -> tuple[str, ...]:
    """Return the lines, as they would stand in the output file."""
    if not length:
        return ()
    with segment.open("rb") as file:
        file.seek(offset)
        text = file.read(length).decode("utf-8", "replace")
    return tuple(text.removesuffix("\n").split("\n"))


def read_columns(segment: Path, offset: int) -> tuple[str, ...] | None:
    """Return the names of the columns that rows at ``offset`` have; None: they have none."""
    names = None
    try:
        with segment.with_name(segment.name + wire.COLUMNS_SUFFIX).open("rb") as file:
            for line in file:
                note = json.loads(line)
                if note["offset"] <= offset:
                    names = note["columns"]
    except FileNotFoundError:
        return None
    return None if names is None else tuple(names)
