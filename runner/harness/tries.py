"""One try of one mini-batch after another: load, run(), count, write, record.

The way of a mini-batch that goes well is kept short on purpose: with a run() that
takes no time at all, these lines are what the job costs.
"""

from __future__ import annotations

import os
import time

from . import wire
from .config import Config
from .errors import ErrorBook
from .loading import Loading
from .mini_batch import Context
from .rendering import JsonRows, NoRows, TextRows
from .reporting import Reporter
from .results import WrongReturnType, classify, count_text
from .script import Script
from .status_words import StatusWords
from .streams import Streams

LOAD = wire.PHASE_LOAD << 32
RUN = wire.PHASE_RUN << 32
WRITE = wire.PHASE_WRITE << 32
WRITTEN = wire.PHASE_WRITTEN << 32
IDLE = wire.PHASE_IDLE << 32


class OutOfMemory(Exception):
    """A try has ended with a MemoryError, which is reported; this process is to leave."""


class TryRunner:
    """Runs the mini-batches of leases."""

    def __init__(
        self,
        config: Config,
        script: Script,
        loading: Loading,
        rows: TextRows | JsonRows | NoRows,
        reporter: Reporter,
        status: StatusWords,
        errors: ErrorBook,
        streams: Streams,
    ) -> None:
        self._is_rank_mode = config.rank_mode
        self._run = script.run
        self._takes_context = script.takes_context
        self._loading = loading
        self._rows = rows
        self._reporter = reporter
        self._words = status.words
        self._errors = errors
        self._streams = streams
        self._stdout_file = streams.stdout_file
        self._stderr_file = streams.stderr_file
        self._log = reporter.log
        self._offset = reporter.segment.start
        self._columns: list[str] | None = None  # as noted last
        self._picked_line = "%spicked mini-batch %d try %d of {}: %s".format(config.run_max_try)
        self._ended_line = (
            "%sdone mini-batch %d try %d: address {} pid {} total %d succeeded %d failed %d "
            "start %s duration %s process %s run %.3f status %s"
        ).format(config.node_address, os.getpid())
        self._wall_offset_us = 0
        self._free_since_ns = time.monotonic_ns()
        self._is_out_of_memory = False

    def run_lease(self, lease_id: int, first: int, count: int, try_number: int) -> None:
        """Run ``count`` mini-batches from ``first`` on. Raises OutOfMemory."""
        words = self._words
        now = time.monotonic_ns()
        self._wall_offset_us = (time.time_ns() - now) // 1000
        self._reporter.begin_lease(lease_id)
        words[wire.WORD_LEASE] = lease_id
        words[wire.WORD_TRY] = try_number
        words[wire.WORD_SINCE] = now
        words[wire.WORD_PHASE] = LOAD | first  # reading the manifest is loading too
        index = first
        for loader, entry, items in self._loading.read_entries(first, count):
            if self._run_try(index, try_number, loader, entry, items, now):
                self._reporter.hand_over()
            now = self._free_since_ns
            if self._is_out_of_memory:
                self._reporter.hand_over()
                self._enter_idle(index)
                raise OutOfMemory
            index += 1
        self._streams.flush()
        self._reporter.end_lease()
        self._enter_idle(index - 1)

    def _enter_idle(self, index: int) -> None:
        """The mini-batch ``index`` is handed over: a death from here on counts it no try."""
        self._words[wire.WORD_SINCE] = time.monotonic_ns()
        self._words[wire.WORD_PHASE] = IDLE | index

    def _run_try(
        self, index: int, try_number: int, loader, entry: bytes, items: int, picked: int
    ) -> bool:  # type: ignore[no-untyped-def]
        """Run one try and keep its record. Returns whether it is time to hand over."""
        words = self._words
        words[wire.WORD_SINCE] = picked
        words[wire.WORD_PHASE] = LOAD | index
        printed = self._stdout_file.end, self._stderr_file.end
        loaded = ran = 0
        try:
            what, text = loader.pick(entry, index, items)
            prefix = self._log.prefix(self._wall_offset_us + picked // 1000)
            self._reporter.note(self._picked_line % (prefix, index, try_number, text), picked)
            mini_batch = loader.load(what, index)
            if not self._is_rank_mode:
                items = len(mini_batch)
            loaded = time.monotonic_ns()
            words[wire.WORD_SINCE] = loaded
            words[wire.WORD_PHASE] = RUN | index
            if not items:
                result = []  # a range of bytes in which no record begins
            elif self._takes_context:
                result = self._run(
                    mini_batch, Context(index, try_number, loader.items(mini_batch))
                )
            else:
                result = self._run(mini_batch)
            ran = time.monotonic_ns()
            words[wire.WORD_SINCE] = ran
            words[wire.WORD_PHASE] = WRITE | index
            kind, count = classify(result)
            rows = self._rows.render(kind, result, count, index)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            times = (picked, loaded, ran)
            return self._fail(error, index, try_number, items, times, printed)
        if self._rows.columns != self._columns and rows:
            self._note_columns()
        succeeded = items if self._is_rank_mode or count > items else count
        if count > succeeded or self._rows.warning or loader.warnings:
            self._warn(index, items, count, loader.warnings)
        if (self._stdout_file.end, self._stderr_file.end) != printed:
            self._note_printed(index, try_number, printed)
        outcome = wire.OUTCOME_SUCCEEDED if succeeded == items else wire.OUTCOME_PARTIAL
        counts = (outcome, wire.RUN_DONE, items, succeeded, count)
        return self._keep(index, try_number, counts, rows, (picked, loaded, ran))

    def _keep(
        self,
        index: int,
        try_number: int,
        counts: tuple[int, int, int, int, int],
        rows: bytes,
        times: tuple[int, int, int],
        error: dict | None = None,
    ) -> bool:
        """Make the try's record and its line. ``counts``: outcome, status, items, succeeded,
        results; ``times`` in ns: picked, loaded, run() over."""
        outcome, status, items, succeeded, results = counts
        picked, loaded, ran = times
        now = time.monotonic_ns()
        run_us = (ran - loaded) // 1000
        total_us = (now - picked) // 1000
        started_us = self._wall_offset_us + picked // 1000
        length = len(rows)
        record = wire.RECORD.pack(
            index,
            try_number,
            outcome,
            status,
            items,
            succeeded,
            results,
            self._offset,
            length,
            started_us,
            (picked - self._free_since_ns) // 1000,
            (loaded - picked) // 1000,
            run_us,
            total_us,
        )
        self._offset += length
        log = self._log
        seconds = "%.3f" % (total_us / 1e6)
        line = self._ended_line % (
            log.prefix(started_us + total_us),
            index,
            try_number,
            items,
            succeeded,
            items - succeeded,
            log.iso(started_us),
            seconds,
            seconds,
            run_us / 1e6,
            wire.STATUS_NAMES[status],
        )
        is_due = self._reporter.add(record, rows, line, now, error)
        words = self._words
        words[wire.WORD_DONE] += 1
        words[wire.WORD_SINCE] = now
        words[wire.WORD_PHASE] = WRITTEN | index
        self._free_since_ns = now
        return is_due

    def _note_printed(self, index: int, try_number: int, since: tuple[int, int]) -> None:
        out, err = self._stdout_file.end, self._stderr_file.end
        record = wire.PRINTED_RECORD.pack(index, try_number, since[0], out, since[1], err)
        self._reporter.note_printed(record)

    def _note_columns(self) -> None:
        self._columns = self._rows.columns
        self._reporter.note_columns(self._offset, self._columns)

    def _warn(self, index: int, items: int, count: int, load_warnings: list[str]) -> None:
        """Tell of what changes no count but may surprise."""
        warn = self._reporter.warn
        if count > items and not self._is_rank_mode:
            text = "run() returned {} for {} (mini-batch {})"
            results = "1 result" if count == 1 else "{} results".format(count)
            text = text.format(results, count_text(items), index)
            warn("more_results_than_items", text, index)
        for text in load_warnings:
            warn("table_types", "mini-batch {}: {}".format(index, text), index)
        if self._rows.warning:
            warn("line_breaks_in_results", self._rows.warning, index)

    def _fail(
        self,
        error: BaseException,
        index: int,
        try_number: int,
        items: int,
        times: tuple[int, int, int],
        printed: tuple[int, int],
    ) -> bool:
        """Keep a failed try: what went wrong decides its status."""
        picked, loaded, ran = times
        now = time.monotonic_ns()
        note = ""
        if items == wire.UNKNOWN_ITEMS:
            items = 1
            note = "its rows are not known: counted as 1 item"
        status, kind = _status_of(error, bool(loaded))
        if isinstance(error, WrongReturnType):
            told = self._errors.describe_wrong_type(
                error.type_name, error.message(index, items), index, try_number, printed
            )
        else:
            told = self._errors.describe(error, kind, index, try_number, printed, note)
        self._note_printed(index, try_number, printed)
        self._is_out_of_memory = status == wire.OUT_OF_MEMORY
        counts = (wire.OUTCOME_TRY_FAILED, status, items, 0, 0)
        loaded = loaded or now
        return self._keep(index, try_number, counts, b"", (picked, loaded, ran or now), told)


def _status_of(error: BaseException, is_loaded: bool) -> tuple[int, str]:
    if isinstance(error, MemoryError):
        return wire.OUT_OF_MEMORY, "out_of_memory"
    if not is_loaded:
        return wire.LOAD_EXCEPTION, "load"
    if isinstance(error, WrongReturnType):
        return wire.WRONG_RETURN_TYPE, "wrong_type"
    return wire.RUN_EXCEPTION, "exception"
