"""Where a text table may be cut: ranges of bytes that hold whole records.

A record ends at a line feed outside quotes; ``""`` inside quotes is a quote.
Whether a place lies inside quotes follows from the number of quotes before it,
which counts at memory speed; single characters are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from runner.core.partition import TableSize

READ_BYTES = 1024 * 1024
QUOTE = b'"'
LINE_FEED = b"\n"


@dataclass(frozen=True)
class RecordRange:
    """Bytes ``start`` to ``end`` of a file, and how many records they hold."""

    start: int
    end: int
    record_count: int


def cut_records(
    file: BinaryIO, size: TableSize, *, skip_header: bool, has_quotes: bool = True
) -> Iterator[RecordRange]:
    """Yield the ranges of ``file``, opened at its beginning.

    By bytes a range is closed before the record that would make it larger than
    the size, and has at least one record; by rows each has exactly that many,
    the last one maybe fewer. Bytes of the header belong to no range. Ranges
    without a record (empty file, header only, blank lines at the end) are left out.
    Holds a few times the size in memory, or one record where that is larger.
    """
    window = _Window(file, has_quotes)
    if skip_header:
        window.take(window.first_end(0))
    while True:
        start = window.position
        end = _find_cut(window, size)
        if not end:
            return
        count = window.count_records(end)
        window.take(end)
        if count:
            yield RecordRange(start, start + end, count)


def cut_windows(
    file_bytes: int, size_bytes: int, *, start: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield ``(start, end)`` at multiples of the size, for tables whose every line
    end ends a record: the reader moves both to the next line start, so nothing
    is scanned here."""
    while start < file_bytes:
        end = min(start + size_bytes, file_bytes)
        yield start, end
        start = end


def _find_cut(window: _Window, size: TableSize) -> int:
    """Return the length of the next range, 0 at the end of the file."""
    if size.row_count is not None:
        return window.end_of_rows(size.row_count)
    assert size.byte_count is not None
    window.fill(size.byte_count + 1)
    if window.is_rest(size.byte_count):
        return window.length
    return window.last_end(size.byte_count) or window.first_end_after(size.byte_count)


class _Window:
    """Bytes of the file from ``position``, where a record begins. Offsets are
    relative to it."""

    def __init__(self, file: BinaryIO, has_quotes: bool) -> None:
        self.position = 0
        self._file = file
        self._has_quotes = has_quotes
        self._bytes = b""
        self._at = 0  # of position within _bytes
        self._is_all = False  # the file has been read to its end

    @property
    def length(self) -> int:
        return len(self._bytes) - self._at

    def fill(self, wanted: int) -> None:
        """Read until ``wanted`` bytes are there, or the file ends."""
        while self.length < wanted and not self._is_all:
            more = self._file.read(max(READ_BYTES, wanted - self.length))
            self._is_all = not more
            self._bytes = self._bytes[self._at :] + more
            self._at = 0

    def is_rest(self, most: int) -> bool:
        return self._is_all and self.length <= most

    def take(self, count: int) -> None:
        self._at += count
        self.position += count

    def last_end(self, most: int) -> int:
        """Return the end of the last record that fits into ``most`` bytes, or 0."""
        base, stop = self._at, self._at + most
        is_inside = self._quotes(base, stop) % 2 == 1
        while (found := self._bytes.rfind(LINE_FEED, base, stop)) >= 0:
            is_inside ^= self._quotes(found, stop) % 2 == 1
            if not is_inside:
                return found + 1 - base
            stop = found
        return 0

    def first_end_after(self, start: int) -> int:
        """Return the end of the first record that ends after ``start`` bytes."""
        is_inside = self._quotes(self._at, self._at + start) % 2 == 1
        return self.first_end(start, is_inside=is_inside)

    def first_end(self, start: int, *, is_inside: bool = False) -> int:
        """The same, told whether ``start`` lies inside quotes; the end of the file
        if no record ends before it."""
        self.fill(start + 1)
        offset = start
        while True:
            found = self._bytes.find(LINE_FEED, self._at + offset)
            if found < 0:
                if self._is_all:
                    return self.length
                searched = self.length
                is_inside ^= self._quotes(self._at + offset, self._at + searched) % 2 == 1
                self.fill(searched + 1)
                offset = searched
                continue
            is_inside ^= self._quotes(self._at + offset, found) % 2 == 1
            offset = found + 1 - self._at
            if not is_inside:
                return offset

    def end_of_rows(self, rows: int) -> int:
        """Return the end of the ``rows``-th record that is not blank."""
        end = 0
        while rows:
            next_end = self.first_end(end)
            if next_end == end:
                break
            record = self._bytes[self._at + end : self._at + next_end]
            rows -= 1 if record.strip(b"\r\n") else 0
            end = next_end
        return end

    def count_records(self, end: int) -> int:
        """Return the records of the first ``end`` bytes; blank lines are none."""
        content = self._bytes[self._at : self._at + end]
        if self._has_quotes and QUOTE in content:
            parts = content.split(QUOTE)
            content = b"q".join(parts[::2])  # what stands outside quotes
            if len(parts) % 2 == 0:
                content += b"q"  # a quote that nothing closes: its rest is a record too
        count = content.count(LINE_FEED) + (not content.endswith(LINE_FEED) and content != b"")
        if content[:1] in b"\r\n" or b"\n\n" in content or b"\n\r\n" in content:
            return sum(1 for line in content.split(LINE_FEED) if line.strip(b"\r"))
        return count

    def _quotes(self, start: int, end: int) -> int:
        return self._bytes.count(QUOTE, start, end) if self._has_quotes else 0
