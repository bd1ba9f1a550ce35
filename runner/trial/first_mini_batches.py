"""Cut the first mini-batches of an input: one of 1 item, one of 2, then of the job's size.

Scripts often work with a single item and fail with the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from runner.core.layout import JobFolder
from runner.core.manifest import SEPARATOR, ManifestWriter, TableRange
from runner.core.partition import TableSize, parse_file_size, parse_table_size
from runner.core.run_settings import InputSettings, StepSettings
from runner.orchestrator.input_files import list_files
from runner.orchestrator.input_tables import CutRange, cut_tables, write_rows

FIRST_SIZES = (1, 2)
ONE_ROW = TableSize(row_count=1)

Entry = tuple[bytes, int | None, int]  # content, items, number of the input


def write_first_mini_batches(settings: StepSettings, folder: JobFolder, count: int) -> int:
    """Write the manifest of at most ``count`` mini-batches; return how many there are.

    Reads no more of the input than they hold. Raises InputUnreadable.
    """
    writer = ManifestWriter(folder)
    try:
        for content, item_count, number in islice(_Cutter(settings, folder).entries(), count):
            writer.append(content, item_count, number)
        return writer.count
    finally:
        writer.close()


class _Cutter:
    """Counts what it has given, for the size of the next one depends on it."""

    def __init__(self, settings: StepSettings, folder: JobFolder) -> None:
        self._settings = settings
        self._folder = folder
        self._count = 0

    def entries(self) -> Iterator[Entry]:
        for entry in self._entries():
            self._count += 1
            yield entry

    def _entries(self) -> Iterator[Entry]:
        rank_count = self._settings.rank_mini_batch_count
        if rank_count:
            for _ in range(rank_count):
                yield b"", 1, 0
            return
        for number, one in enumerate(self._settings.inputs):
            yield from self._entries_of(one, number)

    def _entries_of(self, one: InputSettings, number: int) -> Iterator[Entry]:
        paths, options = one.paths, dict(one.table)
        if one.rows is not None:
            file = self._folder.manifest / f"rows-{number}.jsonl"
            write_rows(one.rows, file)
            paths, options["format"] = (str(file),), "jsonl"
        # Whoever tries may read what the system lets them read, wherever links lead.
        files = list_files(paths, is_allowed=lambda _: True)
        size = self._settings.mini_batch_size
        if one.type == "files":
            for some in self._cut_files(files, parse_file_size(size)):
                yield SEPARATOR.join(some), len(some), number
            return
        ranges = cut_tables(files, options, ONE_ROW)
        for cut in self._join_ranges(ranges, parse_table_size(size)):
            yield cut.range.to_entry(), cut.record_count, number

    def _cut_files(self, files: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
        stream = iter(files)
        while part := list(islice(stream, self._first_size() or size)):
            yield part

    def _join_ranges(self, records: Iterable[CutRange], size: TableSize) -> Iterator[CutRange]:
        """Yield mini-batches made of neighbouring records; none crosses a file's border."""
        part: CutRange | None = None
        for record in records:
            joined = None if part is None else _join(part, record)
            if joined is not None and self._fits(joined, size):
                part = joined
                continue
            if part is not None:
                yield part
            part = record
        if part is not None:
            yield part

    def _fits(self, joined: CutRange, size: TableSize) -> bool:
        most_rows = self._first_size() or size.row_count
        if most_rows is not None:
            return (joined.record_count or 0) <= most_rows
        assert size.byte_count is not None
        return joined.range.end - joined.range.start <= size.byte_count

    def _first_size(self) -> int | None:
        return FIRST_SIZES[self._count] if self._count < len(FIRST_SIZES) else None


def _join(first: CutRange, second: CutRange) -> CutRange | None:
    """Return both as one; None when a file ends between them, or is one that is read whole."""
    if first.record_count is None or second.record_count is None:
        return None
    if first.range.path != second.range.path:
        return None
    whole = TableRange(first.range.path, first.range.start, second.range.end)
    return CutRange(whole, first.record_count + second.record_count)
