"""The manifest: each mini-batch's items, as the master role lists them.

``items`` holds the entries one after another, ``index`` one fixed record per
mini-batch (``runner.harness.wire``). Reading one mini-batch costs two small
reads, whatever the size of the job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from runner.core.layout import JobFolder
from runner.harness.wire import MANIFEST_INDEX_RECORD, UNKNOWN_ITEMS

SEPARATOR = b"\0"  # between the paths of an entry


@dataclass(frozen=True)
class TableRange:
    """Records of one table file: bytes ``start`` to ``end``."""

    path: str
    start: int
    end: int
    is_whole: bool = False  # the file cannot be cut: it is read as one

    def to_entry(self) -> bytes:
        members = {"path": self.path, "start": self.start, "end": self.end}
        if self.is_whole:
            members["whole"] = True
        return json.dumps(members, separators=(",", ":")).encode()


@dataclass(frozen=True)
class ManifestEntry:
    """One mini-batch."""

    index: int
    content: bytes
    item_count: int | None  # None: not known before it is loaded
    input_number: int

    def paths(self) -> list[str]:
        """Return the items of a mini-batch of files, absolute."""
        if not self.content:
            return []
        return [os.fsdecode(path) for path in self.content.split(SEPARATOR)]

    def table_range(self) -> dict[str, Any]:
        """Return ``path``, ``start`` and ``end`` of a mini-batch of a table."""
        members: dict[str, Any] = json.loads(self.content)
        return members

    def item_names(self, most: int = 50) -> list[str]:
        """Return what people call its items: paths, or the range of a table."""
        if self.content.startswith(b"{"):
            members = self.table_range()
            return ["{path}, bytes {start} to {end}".format_map(members)]
        return self.paths()[:most]


class ManifestReader:
    """Reads while the writer still appends. Keep it for one piece of work; close it."""

    def __init__(self, folder: JobFolder) -> None:
        self._index: BinaryIO = folder.manifest_index.open("rb")
        self._items: BinaryIO = folder.manifest_items.open("rb")

    def __enter__(self) -> ManifestReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._index.close()
        self._items.close()

    def __len__(self) -> int:
        size = os.fstat(self._index.fileno()).st_size
        return size // MANIFEST_INDEX_RECORD.size

    def read(self, index: int) -> ManifestEntry:
        """Return mini-batch ``index``, or raise IndexError."""
        entries = self.read_range(index, 1)
        if not entries:
            raise IndexError(f"the manifest has no mini-batch {index}")
        return entries[0]

    def read_range(self, first: int, count: int) -> list[ManifestEntry]:
        """Return up to ``count`` mini-batches from ``first`` on; fewer at the end."""
        size = MANIFEST_INDEX_RECORD.size
        before = 1 if first else 0
        self._index.seek((first - before) * size)
        content = self._index.read((count + before) * size)
        whole = len(content) - len(content) % size
        records = list(MANIFEST_INDEX_RECORD.iter_unpack(content[:whole]))
        start = records.pop(0)[0] if before and records else 0
        entries = []
        self._items.seek(start)
        for number, (end, item_count, input_number) in enumerate(records, first):
            known = None if item_count == UNKNOWN_ITEMS else item_count
            entries.append(
                ManifestEntry(number, self._items.read(end - start), known, input_number)
            )
            start = end
        return entries


class ManifestWriter:
    """Appends mini-batches. What ``flush`` has returned for may be leased.

    Opened on a manifest that a master left half written it goes on after the
    last whole mini-batch, and ``count`` says how many there are.
    """

    def __init__(self, folder: JobFolder) -> None:
        folder.manifest.mkdir(parents=True, exist_ok=True)
        self.count, end = _repair(folder.manifest_index, folder.manifest_items)
        self._index = folder.manifest_index.open("ab")
        self._items = folder.manifest_items.open("ab")
        self._end = end
        self._contents: list[bytes] = []  # since the last flush
        self._records: list[bytes] = []
        self._pack = MANIFEST_INDEX_RECORD.pack

    def append(self, content: bytes, item_count: int | None, input_number: int) -> None:
        """Add a mini-batch; it is on the disk once ``flush`` has returned."""
        self._end += len(content)
        known = UNKNOWN_ITEMS if item_count is None else item_count
        self._contents.append(content)
        self._records.append(self._pack(self._end, known, input_number))
        self.count += 1

    def append_paths(self, paths: Sequence[bytes], input_number: int) -> None:
        self.append(SEPARATOR.join(paths), len(paths), input_number)

    def flush(self) -> None:
        """Items first: an index record never points at what is not there."""
        self._items.write(b"".join(self._contents))
        self._items.flush()
        self._index.write(b"".join(self._records))
        self._index.flush()
        self._contents.clear()
        self._records.clear()

    def close(self) -> None:
        self.flush()
        self._items.close()
        self._index.close()


def count_items(folder: JobFolder) -> tuple[int, int]:
    """Return mini-batches and known items of a manifest, read in blocks."""
    mini_batches = items = 0
    size = MANIFEST_INDEX_RECORD.size
    try:
        index = folder.manifest_index.open("rb")
    except FileNotFoundError:
        return 0, 0
    with index:
        while block := index.read(size * 8192):
            for _, item_count, _ in MANIFEST_INDEX_RECORD.iter_unpack(
                block[: len(block) - len(block) % size]
            ):
                mini_batches += 1
                items += 0 if item_count == UNKNOWN_ITEMS else item_count
    return mini_batches, items


def _repair(index: Path, items: Path) -> tuple[int, int]:
    """Cut off what was half written; return mini-batches and the end of the items."""
    if not index.exists() or not items.exists():
        return 0, 0
    size = MANIFEST_INDEX_RECORD.size
    items_size = items.stat().st_size
    with index.open("r+b") as file:
        count = index.stat().st_size // size
        end = 0
        while count:
            file.seek((count - 1) * size)
            end = MANIFEST_INDEX_RECORD.unpack(file.read(size))[0]
            if end <= items_size:
                break
            count -= 1
        file.truncate(count * size)
    end = end if count else 0
    os.truncate(items, end)
    return count, end
