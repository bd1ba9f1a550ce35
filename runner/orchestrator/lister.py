"""List a job's input into its manifest, in a thread, while the job runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from runner.core.layout import JobFolder
from runner.core.manifest import SEPARATOR, ManifestWriter
from runner.core.partition import BadSize, cut_files, parse_file_size, parse_table_size
from runner.core.run_settings import InputSettings, StepSettings
from runner.orchestrator.input_files import InputUnreadable, list_files
from runner.orchestrator.input_tables import cut_tables, write_rows

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.02  # so that processes never wait for what is listed already


# One mini-batch as it goes into the manifest: content, items (None: not known before it
# is loaded), number of its input. A plain tuple, for a million of them are made.
Entry = tuple[bytes, int | None, int]


@dataclass(frozen=True)
class Listing:
    """How far the listing is; what it counts stands in the manifest's files."""

    created: int = 0
    items: int = 0  # those known
    is_ended: bool = False
    seconds: float = 0.0
    error: Exception | None = None  # InputUnreadable, BadSize or one of our own


class Lister(threading.Thread):
    """``on_turn`` is called in this thread when the first mini-batches can be
    leased, and when the listing has ended. A manifest that an earlier master
    left is gone on with: the same input gives the same mini-batches."""

    def __init__(
        self,
        settings: StepSettings,
        folder: JobFolder,
        *,
        is_allowed: Callable[[str], bool],
        on_turn: Callable[[], None],
    ) -> None:
        super().__init__(name="lister", daemon=True)
        self.listing = Listing()  # replaced whole, so that it is never half new
        self._settings = settings
        self._folder = folder
        self._is_allowed = is_allowed
        self._on_turn = on_turn
        self._stopped = threading.Event()
        self._started_at = time.monotonic()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        try:
            self._list()
        except (InputUnreadable, BadSize) as error:
            self._end(error)
        except Exception as error:
            logger.exception("job folder %s: listing failed", self._folder.root)
            self._end(error)
        else:
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._stopped.is_set():
            return
        seconds = time.monotonic() - self._started_at
        self.listing = replace(self.listing, is_ended=True, seconds=seconds, error=error)
        self._on_turn()

    def _list(self) -> None:
        writer = ManifestWriter(self._folder)
        try:
            items = self._write(writer, self._entries())
            self._show(writer, items)
        finally:
            writer.close()

    def _write(self, writer: ManifestWriter, entries: Iterator[Entry]) -> int:
        """Append what is new and show it every 20 ms; return the items of all."""
        items = 0
        for _, item_count, _ in islice(entries, writer.count):  # written already
            items += item_count or 0
        append, clock, due = writer.append, time.monotonic, 0.0
        for content, item_count, input_number in entries:
            append(content, item_count, input_number)
            items += item_count or 0
            if clock() >= due:
                self._show(writer, items)
                if self._stopped.is_set():
                    break
                due = clock() + FLUSH_SECONDS
        return items

    def _show(self, writer: ManifestWriter, items: int) -> None:
        writer.flush()
        is_first = not self.listing.created
        self.listing = Listing(writer.count, items)
        if is_first and writer.count:
            self._on_turn()

    def _entries(self) -> Iterator[Entry]:
        count = self._settings.rank_mini_batch_count
        if count:
            for _ in range(count):
                yield b"", 1, 0
            return
        for number, one in enumerate(self._settings.inputs):
            yield from self._entries_of(one, number)

    def _entries_of(self, one: InputSettings, number: int) -> Iterator[Entry]:
        size = self._settings.mini_batch_size
        paths, options = one.paths, dict(one.table)
        if one.rows is not None:
            file = self._folder.manifest / f"rows-{number}.jsonl"
            write_rows(one.rows, file)
            paths, options["format"] = (str(file),), "jsonl"
        files = list_files(paths, is_allowed=self._is_allowed)
        if one.type == "files":
            for some in cut_files(files, parse_file_size(size)):
                yield SEPARATOR.join(some), len(some), number
            return
        for cut in cut_tables(files, options, parse_table_size(size)):
            yield cut.range.to_entry(), cut.record_count, number
