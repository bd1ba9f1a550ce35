"""``mini_batch_size``: a number of files, or of bytes or rows of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

FILES_DEFAULT = 10
TABLE_DEFAULT = "1MB"
SMALL_BYTES = 1024  # below, a size without unit was probably meant as rows
MOST = 2**63 - 1
_SIZE = re.compile(r"([1-9][0-9]*)(?:([kKmMgG])[bB])?")
_ROWS = re.compile(r"([1-9][0-9]*)rows")
_BELOW_ONE = re.compile(r"-[0-9]+|0+")
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}

NUMBER_RULE = "must be at least 1"
TEXT_RULE = "must be a whole number, or one followed by KB, MB, GB (or rows), without blanks"
FILES_RULE = "files are counted: give a number without unit"


@dataclass(frozen=True)
class Files:
    count: int


@dataclass(frozen=True)
class Bytes:
    count: int


@dataclass(frozen=True)
class Rows:
    count: int


MiniBatchSize = Files | Bytes | Rows


def check_size(value: Any) -> int | str | None:
    """Return ``value`` if it can be a size of any input, or raise ValueError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(TEXT_RULE)
    if isinstance(value, int):
        if value < 1:
            raise ValueError(NUMBER_RULE)
        if value > MOST:
            raise ValueError(f"must be at most {MOST}")
        return value
    if _BELOW_ONE.fullmatch(value):
        raise ValueError(NUMBER_RULE)
    if not (_SIZE.fullmatch(value) or _ROWS.fullmatch(value)):
        raise ValueError(TEXT_RULE)
    if len(value) > len(str(MOST)):
        raise ValueError(f"must be at most {MOST}")
    return value


def size_of_files(value: int | str | None) -> Files:
    """Return the size for files; raise ValueError when it has a unit."""
    if value is None:
        return Files(FILES_DEFAULT)
    if isinstance(value, str) and not value.isdecimal():
        raise ValueError(FILES_RULE)
    return Files(int(value))


def size_of_table(value: int | str | None) -> Bytes | Rows:
    """Return the size for a table; a number without unit counts bytes."""
    if value is None:
        value = TABLE_DEFAULT
    text = str(value)
    if rows := _ROWS.fullmatch(text):
        return Rows(int(rows[1]))
    size = _SIZE.fullmatch(text)
    if size is None:
        raise ValueError(TEXT_RULE)
    return Bytes(int(size[1]) * _UNITS.get((size[2] or "").lower(), 1))
