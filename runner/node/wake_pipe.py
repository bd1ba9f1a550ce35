"""A pipe that lets other threads wake a loop that selects."""

from __future__ import annotations

import os
from contextlib import suppress


class WakePipe:
    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def ring(self) -> None:
        with suppress(BlockingIOError):  # full: it will wake anyway
            os.write(self._write_end, b"\0")

    def drain(self) -> None:
        with suppress(BlockingIOError):
            while len(os.read(self.read_end, 4096)) == 4096:
                pass

    def close(self) -> None:
        os.close(self.read_end)
        os.close(self._write_end)
