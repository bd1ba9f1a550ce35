"""How ``mini_batch_size`` is read, and how files are cut into mini-batches. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

UNIT_BYTES = {"kb": 1024, "mb": 1024**2, "gb": 1024**3, "": 1}
DEFAULT_FILES = 10
DEFAULT_TABLE_BYTES = 1024**2
_SIZE = re.compile(r"([1-9][0-9]*)(kb|mb|gb|rows|)", re.IGNORECASE)


class BadSize(ValueError):
    """``mini_batch_size`` is none of the allowed forms."""


@dataclass(frozen=True)
class TableSize:
    """Mini-batches of a table: exactly ``rows``, or up to ``bytes``; one is None."""

    byte_count: int | None = None
    row_count: int | None = None


def parse_file_size(size: int | str | None) -> int:
    """Return files per mini-batch."""
    if size is None:
        return DEFAULT_FILES
    if isinstance(size, int) and size >= 1:
        return size
    if isinstance(size, str) and size.isascii() and size.isdigit() and int(size) >= 1:
        return int(size)
    raise BadSize(
        f"mini_batch_size: must be a whole number of files, 1 or more (found: {size})"
    )


def parse_table_size(size: int | str | None) -> TableSize:
    """Return bytes or rows per mini-batch; a bare number counts bytes."""
    if size is None:
        return TableSize(byte_count=DEFAULT_TABLE_BYTES)
    match = _SIZE.fullmatch(str(size))
    if match is None:
        raise BadSize(
            "mini_batch_size: must be a whole number, or one followed by KB, MB, GB or rows,"
            f" without blanks (found: {size})"
        )
    number, unit = int(match[1]), match[2].lower()
    if unit == "rows":
        return TableSize(row_count=number)
    return TableSize(byte_count=number * UNIT_BYTES[unit])


def cut_files(paths: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Yield the paths in order, ``size`` at a time; the last part may be smaller.

    No paths give no mini-batch. Takes one part's memory, whatever the input.
    """
    stream = iter(paths)
    while part := list(islice(stream, size)):
        yield part
