"""How the winning ranges of the segments make the output. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """Bytes of one process's segment."""

    process: int  # process_key() of the database
    offset: int
    length: int


def merge_neighbours(ranges: Iterable[tuple[int, int, int]]) -> Iterator[Piece]:
    """Join ranges (process, offset, length), given in mini-batch order, where one
    begins in the same segment at which the one before ended. Empty ones vanish."""
    process, start, end = -1, 0, 0
    for next_process, offset, length in ranges:
        if not length:
            continue
        if next_process == process and offset == end:
            end += length
            continue
        if end > start:
            yield Piece(process, start, end - start)
        process, start, end = next_process, offset, offset + length
    if end > start:
        yield Piece(process, start, end - start)
