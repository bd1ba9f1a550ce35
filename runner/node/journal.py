"""The journal: every report of an assignment, kept beside the segments.

Written before the report is sent, so that a wiped Redis or a dead node loses
nothing: the master role reads it again. Samples are left out, they may vanish.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from runner.core.journal import LENGTH


class JournalExists(Exception):
    """The assignment was begun before; it must not run twice."""


class Journal:
    def __init__(self, path: Path) -> None:
        """Make the file, which claims the assignment. Raises JournalExists."""
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise JournalExists(path.name) from None

    def append(self, reports: Iterable[bytes]) -> None:
        """Write the reports in one go. Raises OSError when the disk will not."""
        parts = [part for one in reports for part in (LENGTH.pack(len(one)), one)]
        left = memoryview(b"".join(parts))
        while left:
            left = left[os.write(self._descriptor, left) :]

    def close(self) -> None:
        os.close(self._descriptor)
