"""When the lines of a command's output came, beside the output itself.

``attempt-1.log`` is the output as it was written. ``attempt-1.idx`` is a list of
pairs of 64-bit numbers, little endian: bytes of the log, and milliseconds since
1970 at which the log had grown to that many. So the time of a line is that of
the first pair that reaches its end. Output that came together shares a pair.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAIR = struct.Struct("<QQ")


def index_path(log: Path) -> Path:
    return log.with_suffix(".idx")


@dataclass(frozen=True)
class LineTimes:
    ends: Sequence[int]  # bytes, ascending
    times_ms: Sequence[int]

    def time_ms_of(self, line_end: int) -> int | None:
        """Return when the line that ends before byte ``line_end`` had come whole;
        None while the index does not reach it."""
        at = bisect_left(self.ends, line_end)
        return self.times_ms[at] if at < len(self.ends) else None


def read_line_times(path: Path) -> LineTimes:
    """Return the index; a pair that is half written is left out."""
    content = path.read_bytes()
    content = content[: len(content) - len(content) % PAIR.size]
    pairs = list(PAIR.iter_unpack(content))
    return LineTimes([end for end, _ in pairs], [time for _, time in pairs])
