"""Line numbers of a log file: ranges and search, whatever its size.

Beside a log stands ``NAME.idx``, made when it is first asked for and extended
while the log grows: how many lines end in each 64 KiB block. A line is found by
bisection and one block's read. Counting a block costs 30 us, an index by lines
would have to find each one; so 1 GB without an index is counted in half a second.
"""

from __future__ import annotations

import codecs
import os
import struct
import sys
import time
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runner.core.safe_path import open_inside, resolve_inside

BLOCK_BYTES = 64 * 1024
INDEX_SUFFIX = ".idx"
RANGE_LINE_LIMIT = 500
LINE_LIMIT_BYTES = 16 * 1024
LEAST_LINE_LIMIT_BYTES = 1024
ANSWER_LIMIT_BYTES = 512 * 1024
HIT_LIMIT = 200
HIT_TEXT_BYTES = 1024
SEARCH_SECONDS = 2.0
# A log of less than this is counted anew each time; so small logs have no index file.
SAVE_STEP_BLOCKS = 64

_MAGIC = b"PRSIDX1\n"
_HEAD = struct.Struct("<8sQI")  # magic, inode, CRC-32 of the first block


@dataclass(frozen=True)
class CutLine:
    """A line of the answer that is longer in the file."""

    line: int
    bytes: int  # whole length, without its end


@dataclass(frozen=True)
class LineRange:
    """Lines ``first`` … of a file, numbered as ``sed -n`` does."""

    first: int
    lines: tuple[str, ...]  # without line ends; bytes that are not UTF-8 show as U+FFFD
    total_lines: int
    total_bytes: int
    cut: tuple[CutLine, ...] = ()


@dataclass(frozen=True)
class Hit:
    line: int
    text: str  # the line, or the part of a long line that holds the hit


@dataclass(frozen=True)
class SearchAnswer:
    hits: tuple[Hit, ...]  # in order of lines, one per line
    searched_to_line: int  # go on at the next one unless is_complete
    is_complete: bool


class LogFile:
    """One log, open for reading. Use ``open_log``."""

    def __init__(self, file: BinaryIO, index_path: Path) -> None:
        status = os.fstat(file.fileno())
        self.size_bytes = status.st_size  # as of now; what is appended later is left out
        self.modified_at = status.st_mtime
        self._file = file
        self._inode = status.st_ino
        self._index_path = index_path
        self._ends = self._load_index()
        self._extend_index()
        self._tail_count = self._block(len(self._ends)).count(b"\n")

    @property
    def line_count(self) -> int:
        """Lines, a last one without a line end counted too."""
        has_open_line = self.size_bytes > 0 and self._read(self.size_bytes - 1, 1) != b"\n"
        return self._end_count + has_open_line

    def lines(self, *, first: int, count: int) -> LineRange:
        """Return lines ``first`` to ``first + count - 1``; negative: the last ones.

        ``first=-200`` begins 200 lines before the end. At most 500 lines and
        512 KiB: a line is cut at 16 KiB, and if that is too much, all earlier,
        down to 1 KiB. Beyond the end there are none.
        """
        total = self.line_count
        first = max(1, total + 1 + first if first < 0 else first)
        count = max(0, min(count, RANGE_LINE_LIMIT, total + 1 - first))
        found = list(self._raw_lines(first, count))

        limit = LINE_LIMIT_BYTES
        if sum(len(head) for head, _ in found) > ANSWER_LIMIT_BYTES:
            limit = max(LEAST_LINE_LIMIT_BYTES, ANSWER_LIMIT_BYTES // count)
        cut = (
            CutLine(first + place, length)
            for place, (_, length) in enumerate(found)
            if length > limit
        )
        lines = tuple(_decode(head[:limit]) for head, _ in found)
        return LineRange(first, lines, total, self.size_bytes, tuple(cut))

    def line_at(self, offset: int) -> int:
        """Return the number of the line that holds the byte at ``offset``, from 0."""
        block = min(offset // BLOCK_BYTES, len(self._ends))
        ends_before = self._ends[block - 1] if block else 0
        start = block * BLOCK_BYTES
        return ends_before + self._read(start, offset - start).count(b"\n") + 1

    def search(
        self,
        text: str,
        *,
        is_case_sensitive: bool = False,
        from_line: int = 1,
        limit: int = HIT_LIMIT,
        seconds: float = SEARCH_SECONDS,
    ) -> SearchAnswer:
        """Return the lines that hold ``text``, until ``limit`` or the time is used up.

        Without ``is_case_sensitive`` A to Z equal a to z; other letters never do.
        """
        needle = text.encode("utf-8", "surrogateescape")
        if not needle or b"\n" in needle:
            return SearchAnswer((), self.line_count, True)
        if not is_case_sensitive:
            needle = needle.lower()
        deadline = time.monotonic() + seconds
        hits: list[Hit] = []
        line, offset = from_line, self._line_start(from_line)
        while offset < self.size_bytes:
            if time.monotonic() > deadline:
                return SearchAnswer(tuple(hits), line - 1, False)
            # The overlap finds a hit that two pieces share.
            piece = self._read(offset, 16 * BLOCK_BYTES + len(needle) - 1)
            body = min(16 * BLOCK_BYTES, self.size_bytes - offset)
            folded = piece if is_case_sensitive else piece.lower()
            line_here, seen = line, 0
            at = folded.find(needle)
            while 0 <= at < body:
                line_here += piece.count(b"\n", seen, at)
                seen = at
                if not hits or hits[-1].line != line_here:
                    if len(hits) == limit:
                        return SearchAnswer(tuple(hits), line_here - 1, False)
                    hits.append(Hit(line_here, self._around(offset + at, len(needle))))
                line_end = piece.find(b"\n", at)
                at = -1 if line_end < 0 else folded.find(needle, line_end)
            line += piece.count(b"\n", 0, body)
            offset += body
        return SearchAnswer(tuple(hits), self.line_count, True)

    # --- lines ---------------------------------------------------------------

    @property
    def _end_count(self) -> int:
        return (self._ends[-1] if self._ends else 0) + self._tail_count

    def _line_start(self, line: int) -> int:
        """Offset of the first byte of ``line``; the size for one that does not exist."""
        ends_before = line - 1
        if ends_before <= 0:
            return 0
        if ends_before > self._end_count:
            return self.size_bytes
        block = bisect_left(self._ends, ends_before)
        data = self._block(block)
        at = -1
        for _ in range(ends_before - (self._ends[block - 1] if block else 0)):
            at = data.find(b"\n", at + 1)
            if at < 0:  # the index is not of this file: somebody wrote over one of them
                return self.size_bytes
        return block * BLOCK_BYTES + at + 1

    def _raw_lines(self, first: int, count: int) -> Iterator[tuple[bytes, int]]:
        """Give each line's beginning, up to 16 KiB, and its whole length."""
        offset = self._line_start(first)
        data, base = b"", offset
        for line in range(first, first + count):
            end = data.find(b"\n", offset - base)
            if end < 0:
                data, base = self._read(offset, BLOCK_BYTES), offset
                end = data.find(b"\n")
            if end >= 0:
                length = base + end - offset
            else:  # longer than a block, or the last one
                next_start = self._line_start(line + 1)
                has_end = line <= self._end_count
                length = next_start - offset - has_end
            start = offset - base
            yield data[start : start + min(length, LINE_LIMIT_BYTES)], length
            offset += length + 1

    def _around(self, at: int, length: int) -> str:
        """The line at ``at``, or of a long one the part around ``at``."""
        start = max(0, at - HIT_TEXT_BYTES // 2)
        before = self._read(start, at - start)
        after = self._read(at, max(HIT_TEXT_BYTES // 2, length))
        head = before[before.rfind(b"\n") + 1 :]
        line_end = after.find(b"\n")
        return _decode(head + (after if line_end < 0 else after[:line_end]))

    # --- index ---------------------------------------------------------------

    def _load_index(self) -> array[int]:
        """Return the line ends counted so far up to the end of each whole block,
        or nothing when there is no index of this very file."""
        ends: array[int] = array("Q")
        with suppress(OSError):
            handle = os.open(self._index_path, os.O_RDONLY | os.O_NOFOLLOW)
            with os.fdopen(handle, "rb") as file:
                head = file.read(_HEAD.size)
                if head != self._index_head():
                    return ends
                data = file.read()
            ends.frombytes(data[: len(data) // 8 * 8])
            if sys.byteorder == "big":
                ends.byteswap()
        if len(ends) * BLOCK_BYTES > self.size_bytes:  # truncated since
            return array("Q")
        return ends

    def _extend_index(self) -> None:
        known = len(self._ends)
        total = self._ends[-1] if known else 0
        for block in range(known, self.size_bytes // BLOCK_BYTES):
            total += self._block(block).count(b"\n")
            self._ends.append(total)
        if len(self._ends) - known >= SAVE_STEP_BLOCKS:
            self._save_index()

    def _save_index(self) -> None:
        """Replace the index file whole. A folder that cannot be written, or a file
        of that name that is not ours, costs only that it is counted again."""
        ends = array("Q", self._ends)
        if sys.byteorder == "big":
            ends.byteswap()
        draft = self._index_path.with_name(f".{self._index_path.name}.{os.getpid()}")
        with suppress(OSError):
            if not self._may_replace_index():
                return
            draft.write_bytes(self._index_head() + ends.tobytes())
            draft.replace(self._index_path)

    def _may_replace_index(self) -> bool:
        try:
            with self._index_path.open("rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
        except FileNotFoundError:
            return True

    def _index_head(self) -> bytes:
        return _HEAD.pack(_MAGIC, self._inode, zlib.crc32(self._block(0)))

    # --- bytes ---------------------------------------------------------------

    def _block(self, number: int) -> bytes:
        return self._read(number * BLOCK_BYTES, BLOCK_BYTES)

    def _read(self, offset: int, count: int) -> bytes:
        """Read by position; never mapped, for a log that is cut meanwhile would
        end the reader with SIGBUS."""
        count = min(count, self.size_bytes - offset)
        return os.pread(self._file.fileno(), count, offset) if count > 0 else b""


@contextmanager
def open_log(root: Path, relative: str) -> Iterator[LogFile]:
    """Open the log ``relative`` below ``root``.

    Raises what ``open_inside`` raises.
    """
    with open_inside(root, relative) as file:
        resolved = resolve_inside(root, relative)
        yield LogFile(file, resolved.with_name(resolved.name + INDEX_SUFFIX))


def _decode(data: bytes) -> str:
    """As UTF-8; a character cut in half at the end is left out."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, False)
