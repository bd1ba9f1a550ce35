"""From an entry of the manifest to what run() is given.

``pick`` is quick and says what the mini-batch is, ``load`` may read a file.
"""

from __future__ import annotations

from . import wire
from .config import Config
from .manifest import Manifest
from .mini_batch import FileItems, FileMiniBatch, TableItems
from .results import count_text


class FileLoader:
    """Mini-batches of files: the paths are the mini-batch."""

    warnings: list[str] = []  # of the last load

    def pick(self, entry: bytes, index: int, item_count: int) -> tuple[FileMiniBatch, str]:
        """Return the mini-batch and words about it."""
        paths = entry.decode("utf-8", "surrogateescape").split("\0") if entry else []
        mini_batch = FileMiniBatch(paths)
        mini_batch.task_id = str(index)
        count = len(paths)
        if not count:
            return mini_batch, "0 items"
        text = "/".join(paths[0].rsplit("/", 2)[-2:])
        if count == 1:
            text = "1 item, " + text
        else:
            last = "/".join(paths[-1].rsplit("/", 2)[-2:])
            text = "%d items, %s … %s" % (count, text, last)
        return mini_batch, text if "\n" not in text else text.replace("\n", "\\n")

    def load(self, mini_batch: FileMiniBatch, index: int) -> FileMiniBatch:
        return mini_batch

    def items(self, mini_batch: FileMiniBatch) -> FileItems:
        return FileItems(mini_batch)


class TableLoader:
    """Mini-batches of rows."""

    def __init__(self, options: dict, input_number: int, manifest: Manifest) -> None:
        from .table import TableReader

        self._reader = TableReader(options, input_number, manifest)
        self.warnings: list[str] = []  # of the last load

    def pick(self, entry: bytes, index: int, item_count: int):  # type: ignore[no-untyped-def]
        """Return where the rows stand and words about it."""
        from .table import TableRange

        where = TableRange(entry)
        words = "" if item_count == wire.UNKNOWN_ITEMS else count_text(item_count) + ", "
        return where, words + str(where).replace("\n", "\\n")

    def load(self, where, index: int):  # type: ignore[no-untyped-def]
        frame = self._reader.read(where, index)
        self.warnings = self._reader.warnings
        return frame

    def items(self, frame) -> TableItems:  # type: ignore[no-untyped-def]
        return TableItems(frame)


class RankLoader(FileLoader):
    """Mini-batches without data: an empty list, one item each."""

    def pick(self, entry: bytes, index: int, item_count: int) -> tuple[FileMiniBatch, str]:
        return super().pick(entry, index, item_count)[0], "rank %d" % index


class BrokenLoader(FileLoader):
    """Stands in for a manifest that cannot be read: each mini-batch fails with the reason."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def pick(self, entry: bytes, index: int, item_count: int) -> tuple[FileMiniBatch, str]:
        raise self._error


class InputMissing(ImportError):
    """The job's environment lacks what reads its input."""


class Loading:
    """The way from a lease's indexes to mini-batches."""

    def __init__(self, config: Config) -> None:
        """Raises InputMissing when the job's environment cannot read an input."""
        self._is_rank_mode = config.rank_mode
        self._manifest = Manifest(config.manifest_items, config.manifest_index)
        inputs = [] if config.rank_mode else config.inputs
        self._loaders = [self._make_loader(one, number) for number, one in enumerate(inputs)]

    def read_entries(self, first: int, count: int) -> list[tuple]:
        """Return (loader, entry, item count or UNKNOWN_ITEMS) of each mini-batch."""
        if self._is_rank_mode:
            return [(RankLoader(), b"", 1)] * count
        try:
            entries = self._manifest.read(first, count)
        except OSError as error:
            return [(BrokenLoader(error), b"", wire.UNKNOWN_ITEMS)] * count
        loaders = self._loaders
        return [(loaders[number], entry, items) for entry, items, number in entries]

    def _make_loader(self, one: dict, number: int) -> FileLoader | TableLoader:
        if one["kind"] != "table":
            return FileLoader()
        try:
            return TableLoader(one.get("table") or {}, number, self._manifest)
        except ImportError as error:
            raise InputMissing(
                "input {} is a table, and pandas cannot be imported in the job's environment "
                "({}); add pandas to its requirements".format(one.get("name", number), error)
            ) from error
