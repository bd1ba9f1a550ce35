"""Where the script's own text goes: sys.stdout, sys.stderr and the root logger.

Descriptors 1 and 2 are the agent's business (C code, children, crashes).
Source: "Where text goes" of the ParallelRunStep page.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import time


class CountedFile(io.FileIO):
    """A log file, appended to, that knows how long it is."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "ab")
        self.end = os.fstat(self.fileno()).st_size

    def write(self, data):  # type: ignore[no-untyped-def,override]
        written = super().write(data)
        self.end += written or 0
        return written


class Streams:
    """The script's two streams, flushed at each line end."""

    def __init__(self, stdout_path: str, stderr_path: str) -> None:
        self.stdout_file = CountedFile(stdout_path)
        self.stderr_file = CountedFile(stderr_path)
        self._stdout = _text(self.stdout_file)
        self._stderr = _text(self.stderr_file)

    def install(self, logging_level: str) -> None:
        """Make them sys.stdout and sys.stderr, and let the root logger write to the first.

        The handler is there before the script, so that its basicConfig() changes nothing.
        """
        sys.stdout = self._stdout
        sys.stderr = self._stderr
        handler = logging.StreamHandler(self._stdout)
        formatter = logging.Formatter("%(asctime)s|%(levelname)s|%(name)s|%(message)s")
        formatter.converter = time.gmtime
        handler.setFormatter(formatter)
        logging.root.addHandler(handler)
        logging.root.setLevel(getattr(logging, logging_level))

    def position(self) -> tuple[int, int]:
        """Return how long the two files are now, in bytes."""
        return self.stdout_file.end, self.stderr_file.end

    def printed_since(self, position: tuple[int, int]) -> dict[str, list[int]]:
        """Return what was written after ``position``, as wire.ERROR wants it."""
        self.flush()
        return {
            "stdout": [position[0], self.stdout_file.end],
            "stderr": [position[1], self.stderr_file.end],
        }

    def flush(self) -> None:
        """Write out lines begun but not ended; the script may have closed a stream."""
        for stream in (self._stdout, self._stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue


def _text(file: CountedFile) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(file), "utf-8", "backslashreplace", "\n", line_buffering=True
    )
