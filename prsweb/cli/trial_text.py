"""The events of a trial, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prsweb.cli.words import duration, plural
from runner.core.trial_events import (
    InitTried,
    MiniBatchTried,
    TrialEnded,
    TrialError,
    TrialEvent,
    Warned,
)

MOST_ROWS = 20
MOST_NAMES = 3
INDENT = "  "
PRINTED = {
    "stdout": "printed:",
    "stderr": "printed on standard error:",
    "log": "logged by EntryScript().logger:",
}


def event_text(event: TrialEvent) -> str:
    """Return what is shown of the event; "" for nothing."""
    match event:
        case InitTried():
            return _init_text(event)
        case MiniBatchTried():
            return _mini_batch_text(event)
        case Warned():
            return f"warning: {event.text}"
        case TrialEnded():
            return "\n".join([*_printed_lines(event.printed), *_written_lines(event.written)])
    return ""


def _init_text(event: InitTried) -> str:
    went = "went well" if event.error is None else "failed"
    head = f"import and init() {went} after {duration(event.seconds)}"
    return "\n".join([head, *_error_lines(event.error), *_printed_lines(event.printed)])


def _mini_batch_text(event: MiniBatchTried) -> str:
    head = (
        f"mini-batch {event.index}: {plural(event.items, 'item')}, "
        f"{event.succeeded} succeeded, {event.failed} failed"
    )
    if event.run_seconds is not None:
        head += f", run() took {event.run_seconds:.3f} s"
    lines = [head, *_error_lines(event.error), *_printed_lines(event.printed)]
    return "\n".join(["", *lines, *_row_lines(event)])


def _error_lines(error: TrialError | None) -> list[str]:
    """Return the traceback; of an error that has none its title."""
    if error is None:
        return []
    return error.traceback.rstrip("\n").split("\n") if error.traceback else [error.title]


def _printed_lines(printed: Mapping[str, str]) -> list[str]:
    lines = []
    for name, title in PRINTED.items():
        if printed.get(name):
            lines += [INDENT + title, *_indented(printed[name].rstrip("\n").split("\n"))]
    return lines


def _written_lines(written: Sequence[str]) -> list[str]:
    if not written:
        return []
    names = ", ".join(written[:MOST_NAMES]) + (" …" if len(written) > MOST_NAMES else "")
    return [f"in the output folder, not kept: {plural(len(written), 'file')} ({names})"]


def _row_lines(event: MiniBatchTried) -> list[str]:
    if not event.rows:
        return []
    columns = f", columns {', '.join(event.columns)}" if event.columns else ""
    lines = [f"{INDENT}{plural(len(event.rows), 'row')}{columns}:"]
    lines += _indented(event.rows[:MOST_ROWS])
    left = len(event.rows) - MOST_ROWS
    return [*lines, f"{INDENT * 2}… and {left:,} more"] if left > 0 else lines


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT * 2 + line for line in lines]
