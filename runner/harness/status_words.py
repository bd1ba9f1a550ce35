"""What this process does now, in words that the node agent reads without asking."""

from __future__ import annotations

import mmap
import os
import time

from . import wire


class StatusWords:
    """The mapped status file. ``words`` may be written directly, time before phase."""

    def __init__(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size < wire.STATUS_FILE_BYTES:
                os.ftruncate(descriptor, wire.STATUS_FILE_BYTES)
            mapped = mmap.mmap(descriptor, wire.STATUS_FILE_BYTES)
        finally:
            os.close(descriptor)
        self.words = memoryview(mapped).cast("Q")

    def enter(self, phase: int) -> None:
        """Begin ``phase``; the mini-batch index stays that of the last one."""
        index = self.words[wire.WORD_PHASE] & 0xFFFFFFFF
        self.words[wire.WORD_SINCE] = time.monotonic_ns()
        self.words[wire.WORD_PHASE] = phase << 32 | index
