"""Read a node's journal: every report of one assignment, as it was sent. Pure.

Each is its length (u32, little endian) and its bytes, see ``layout``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

LENGTH = struct.Struct("<I")
LONGEST_BYTES = 64 * 1024 * 1024  # more is no report but a damaged file


def read_reports(file: BinaryIO) -> Iterator[bytes]:
    """Yield the reports, oldest first; one that was half written ends them."""
    while len(head := file.read(LENGTH.size)) == LENGTH.size:
        (length,) = LENGTH.unpack(head)
        if length > LONGEST_BYTES:
            return
        report = file.read(length)
        if len(report) < length:
            return
        yield report
