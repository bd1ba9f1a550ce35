"""The mini-batches of the job, as the master role has cut them."""

from __future__ import annotations

import os

from . import wire


class ManifestUnreadable(OSError):
    """The manifest has less in it than the lease promises."""


class Manifest:
    """Reads entries by mini-batch index. The files are opened with the first lease."""

    def __init__(self, items_path: str, index_path: str) -> None:
        self._items_path = items_path
        self._index_path = index_path
        self._items = -1
        self._index = -1

    def read(self, first: int, count: int) -> list[tuple[bytes, int, int]]:
        """Return (entry, item count or UNKNOWN_ITEMS, number of the input) of ``count``
        mini-batches from ``first`` on. Raises OSError."""
        before, records = self._read_index(first, count)
        end = records[-1][0]
        items = os.pread(self._items, end - before, before)
        if len(items) != end - before:
            raise ManifestUnreadable("{}: ends before byte {}".format(self._items_path, end))
        entries, at = [], 0
        for end, item_count, input_number in records:
            entries.append((items[at : end - before], item_count, input_number))
            at = end - before
        return entries

    def read_first_of_input(self, input_number: int, last: int) -> bytes:
        """Return the entry of the first mini-batch cut from that input; ``last`` is
        any mini-batch of it."""
        low, high = 0, last
        while low < high:  # input numbers never fall
            middle = (low + high) // 2
            if self.read(middle, 1)[0][2] < input_number:
                low = middle + 1
            else:
                high = middle
        return self.read(low, 1)[0][0]

    def _read_index(self, first: int, count: int) -> tuple[int, list[tuple[int, int, int]]]:
        self._open()
        record = wire.MANIFEST_INDEX_RECORD
        from_record = max(first - 1, 0)  # an entry begins where the one before it ends
        size = (first + count - from_record) * record.size
        data = os.pread(self._index, size, from_record * record.size)
        if len(data) != size:
            raise ManifestUnreadable(
                "{}: has no mini-batch {}".format(self._index_path, first + count - 1)
            )
        records = list(record.iter_unpack(data))
        return (records[0][0], records[1:]) if first else (0, records)

    def _open(self) -> None:
        if self._items < 0:
            self._items = os.open(self._items_path, os.O_RDONLY | os.O_CLOEXEC)
        if self._index < 0:
            self._index = os.open(self._index_path, os.O_RDONLY | os.O_CLOEXEC)
