"""The process's own file of result rows, and what is noted beside it."""

from __future__ import annotations

import json
import os

from . import wire


class SegmentNotWritable(OSError):
    """The disk is full or the file is gone; nothing more can be kept."""


class Segment:
    """Appends. A range counts only once it is reported, so a torn end does no harm."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.descriptor = open_for_append(path)
            self.start = os.fstat(self.descriptor).st_size
        except OSError as error:
            raise SegmentNotWritable("{}: {}".format(path, error)) from error

    def append(self, rows: bytes) -> None:
        """Write all of ``rows``, or raise SegmentNotWritable."""
        try:
            write_all(self.descriptor, rows)
        except OSError as error:
            raise SegmentNotWritable("{}: {}".format(self.path, error)) from error

    def append_columns(self, notes: list[tuple[int, list[str] | None]]) -> None:
        """Note the columns of the rows from each offset on, see wire."""
        lines = [json.dumps({"offset": at, "columns": names}) + "\n" for at, names in notes]
        path = self.path + wire.COLUMNS_SUFFIX
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write("".join(lines))
        except OSError as error:
            raise SegmentNotWritable("{}: {}".format(path, error)) from error

    def append_printed(self, records: bytes) -> None:
        """Note where in the logs stands what tries have printed, see wire."""
        path = self.path + wire.PRINTED_SUFFIX
        try:
            with open(path, "ab") as file:
                file.write(records)
        except OSError as error:
            raise SegmentNotWritable("{}: {}".format(path, error)) from error


def open_for_append(path: str) -> int:
    """Return a descriptor of the file at ``path``, made when it is missing."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: a pipe or a nearly full disk may take only a part at a time."""
    written = os.write(descriptor, data)
    if written == len(data):
        return
    rest = memoryview(data)[written:]
    while rest:
        rest = rest[os.write(descriptor, rest) :]
