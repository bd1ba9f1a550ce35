"""Run the first mini-batches of a job, one after another, and tell what each came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.core.blocks import Record
from runner.core.error_groups import CaughtError, Group, group_init, group_partial, group_try
from runner.core.trial_events import (
    InitTried,
    MiniBatchTried,
    TrialEnded,
    TrialError,
    TrialEvent,
    Warned,
)
from runner.core.wire_format import wire
from runner.node.failed_tries import read_item_count
from runner.node.worker_process import Launch
from runner.trial.printed_text import PrintedText
from runner.trial.result_rows import read_columns, read_rows
from runner.trial.watched_process import WatchedProcess


class Trial:
    """One worker process at a time; one that has died is replaced, as in a job."""

    def __init__(
        self, launch: Launch, tell: Callable[[TrialEvent], None], *, stop_descriptor: int
    ) -> None:
        self._launch = launch
        self._tell = tell
        self._stop_descriptor = stop_descriptor
        self._next_number = 0
        self._watched: WatchedProcess | None = None
        self._printed: PrintedText | None = None
        self._told_tracebacks: dict[str, str] = {}  # by digest: told in full once a process

    def run(self, count: int) -> None:
        """Try mini-batches 0 to ``count`` - 1, each once, until init() fails.

        Raises CannotStartProcess and TrialStopped.
        """
        for index in range(count):
            watched = self._ready_process()
            if watched is None:
                break
            watched.run_mini_batch(index)
            self._tell(self._tried(watched, index))
            self._tell_warnings(watched)
            if watched.exit is not None:
                self.close()
        self._shut_down()

    def close(self) -> None:
        """End the worker process, if there is one. Can be repeated."""
        if self._watched is not None:
            self._watched.close()
            self._watched = None

    def _ready_process(self) -> WatchedProcess | None:
        """Return a process past init(); None, after telling why, when there can be none."""
        if self._watched is not None:
            return self._watched
        number, self._next_number = self._next_number, self._next_number + 1
        self._printed = PrintedText(self._launch.place, number)
        watched = WatchedProcess(self._launch, number, stop_descriptor=self._stop_descriptor)
        self._watched = watched
        error, is_dead = None, False
        if not watched.wait_until_ready():
            is_dead = watched.init_error is None
            caught = self._caught(watched.init_error or watched.describe_init_death())
            error = _trial_error(group_init(caught))
        printed = self._printed.take(without_last_words=is_dead)
        self._tell(InitTried(watched.init_seconds, error, printed))
        self._tell_warnings(watched)
        return watched if error is None else None

    def _shut_down(self) -> None:
        printed: Mapping[str, str] = {}
        if self._watched is not None and self._printed is not None:
            if self._watched.exit is None:
                self._watched.end()
                self._tell_warnings(self._watched)
                self._tell_late_end(self._watched)
            printed = self._printed.take()
        self.close()
        self._tell(TrialEnded(printed, _list_written(self._launch.place.output_folder)))

    def _tell_late_end(self, watched: WatchedProcess) -> None:
        """shutdown() changes no count, however it ends."""
        if watched.process.expiry is not None:
            self._tell(Warned(str(watched.process.expiry)))
        elif not watched.process.is_gone_well:
            self._tell(Warned(f"the process died in shutdown(): {watched.exit}"))

    def _tell_warnings(self, watched: WatchedProcess) -> None:
        for text in watched.warnings:
            self._tell(Warned(text))
        watched.warnings.clear()

    # -- one mini-batch --------------------------------------------------------------

    def _tried(self, watched: WatchedProcess, index: int) -> MiniBatchTried:
        assert self._printed is not None
        record = watched.records.get(index)
        if record is None:
            return self._died(watched, index)
        _, _, outcome, _, items, succeeded, results, offset, length, *_ = record
        rows = read_rows(watched.process.segment, offset, length)
        return MiniBatchTried(
            index=index,
            items=items,
            succeeded=succeeded,
            failed=0 if outcome == wire.OUTCOME_SUCCEEDED else items - succeeded,
            results=results,
            run_seconds=record[12] / 1e6,
            error=self._error_of(record, watched.errors.get(index)),
            printed=self._printed.take(),
            columns=read_columns(watched.process.segment, offset) if rows else None,
            rows=rows,
        )

    def _died(self, watched: WatchedProcess, index: int) -> MiniBatchTried:
        assert self._printed is not None
        items = read_item_count(self._launch.place.folder.manifest_index, index)
        error = _trial_error(
            group_try(wire.PROCESS_DIED, self._caught(watched.describe_death()))
        )
        printed = self._printed.take(without_last_words=True)
        return MiniBatchTried(
            index=index, items=items, failed=items, error=error, printed=printed
        )

    def _error_of(self, record: Record, raw: Mapping[str, Any] | None) -> TrialError | None:
        _, _, outcome, status, items, _, results, *_ = record
        if outcome == wire.OUTCOME_SUCCEEDED:
            return None
        if outcome == wire.OUTCOME_PARTIAL:
            detail = f"run() returned {_count(results, 'result')} for {_count(items, 'item')}"
            return replace(_trial_error(group_partial()), traceback=detail)
        return _trial_error(group_try(status, self._caught(raw or {})))

    def _caught(self, raw: Mapping[str, Any]) -> CaughtError:
        """Return the error with its traceback, also when it was told in full before."""
        caught = CaughtError.from_wire(raw)
        traceback = caught.traceback or self._told_tracebacks.get(caught.digest, "")
        self._told_tracebacks[caught.digest] = traceback
        return replace(caught, traceback=traceback)


def _trial_error(group: Group) -> TrialError:
    return TrialError(group.kind, group.title, group.place, group.traceback)


def _list_written(output_folder: Path) -> tuple[str, ...]:
    """Return the files that the script has written to its output folder, relative."""
    files = (path for path in output_folder.rglob("*") if path.is_file())
    return tuple(sorted(str(path.relative_to(output_folder)) for path in files))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
