"""Rows of ``processed_mini-batches.csv``. Pure, and written by the million:
one format per row, the date part of a second kept from the row before."""

from __future__ import annotations

import time
from collections.abc import Iterable

from runner.core.blocks import Record
from runner.core.job_log_texts import csv_field
from runner.core.layout import process_name
from runner.harness.wire import INIT_DONE, INIT_EXCEPTION, STATUS_NAMES

_ROW = "%d,%d,%s,%s.%06d,%d,%d,%d,%.6f,%.6f,%.6f,%s,%s\n"
_NOTHING = "N/A,N/A,N/A"  # category, message, detail


def success_rows(records: Iterable[Record], *, node: str, process: int) -> str:
    """Return a row for each record that went well; no error columns."""
    who = f"{node}/{process_name(process)}"
    known_second, stamp = -1, ""
    rows = []
    for index, number, _, status, items, done, _, _, _, start, _, load, run, total in records:
        second, micro = divmod(start, 1_000_000)
        if second != known_second:
            known_second, stamp = second, _second(second)
        rows.append(
            _ROW
            % (
                index,
                number,
                who,
                stamp,
                micro,
                items,
                done,
                items - done,
                total / 1e6,
                (load + run) / 1e6,
                run / 1e6,
                STATUS_NAMES[status],
                _NOTHING,
            )
        )
    return "".join(rows)


def failure_row(
    record: Record, *, node: str, process: int, category: str, message: str, detail: str | None
) -> str:
    """Return the row of one failed, repeated or late try."""
    plain = success_rows([record], node=node, process=process)
    tail = ",".join(map(csv_field, (category or None, message or None, detail)))
    return plain[: -len(_NOTHING) - 1] + tail + "\n"


def init_row(*, node: str, process: int, at: float, seconds: float, message: str | None) -> str:
    """Return the row of an init(), which ended at ``at``; ``message`` when it failed."""
    started_us = int((at - seconds) * 1e6)
    second, micro = divmod(started_us, 1_000_000)
    values = (
        *(None, None, f"{node}/{process_name(process)}", f"{_second(second)}.{micro:06d}"),
        *(None, None, None, f"{seconds:.6f}", None, None),
        STATUS_NAMES[INIT_DONE if message is None else INIT_EXCEPTION],
        None if message is None else "init",
        *(message, None),
    )
    return ",".join(map(csv_field, values)) + "\n"


def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
