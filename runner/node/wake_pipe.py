"""A pipe that lets other threads wake a loop that selects."""

from __future__ import annotations

import os
import threading
from contextlib import suppress


class WakePipe:
    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lock = threading.Lock()
        self._is_closed = False

    def ring(self) -> None:
        """Wake the loop. Does nothing once closed: a thread may outlive the loop, and
        the number of the descriptor may be another file's by then."""
        with self._lock, suppress(BlockingIOError):  # full: it will wake anyway
            if not self._is_closed:
                os.write(self._write_end, b"\0")

    def drain(self) -> None:
        with suppress(BlockingIOError):
            while len(os.read(self.read_end, 4096)) == 4096:
                pass

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            os.close(self.read_end)
            os.close(self._write_end)
