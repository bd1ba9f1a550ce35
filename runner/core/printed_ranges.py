"""Where in the logs stands what a try has printed, as its worker process noted it.

The notes lie beside the process's segment, see PRINTED in ``runner.harness.wire``.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runner.harness.wire import PRINTED_RECORD, PRINTED_SUFFIX

RECORDS_PER_READ = 4096


@dataclass(frozen=True)
class ByteRange:
    start: int
    end: int  # exclusive; never equal to start


@dataclass(frozen=True)
class PrintedRanges:
    """What one try wrote to the process's files; None: nothing."""

    stdout: ByteRange | None
    stderr: ByteRange | None


def find_printed(
    segments: Path, *, node: str, process: str, index: int, try_number: int
) -> PrintedRanges | None:
    """Return what a try printed, ``process`` as in ``process003``; None: nothing."""
    pattern = f"{glob.escape(node)}-{glob.escape(process)}-*{PRINTED_SUFFIX}"
    for path in segments.glob(pattern):
        with path.open("rb") as file:
            while block := _read_records(file):
                for one, number, *ends in PRINTED_RECORD.iter_unpack(block):
                    if (one, number) == (index, try_number):
                        return PrintedRanges(_range(*ends[:2]), _range(*ends[2:]))
    return None


def _read_records(file: BinaryIO) -> bytes:
    """Return the next whole records; the last may be written just now."""
    block = file.read(RECORDS_PER_READ * PRINTED_RECORD.size)
    return block[: len(block) // PRINTED_RECORD.size * PRINTED_RECORD.size]


def _range(start: int, end: int) -> ByteRange | None:
    return ByteRange(start, end) if end > start else None
