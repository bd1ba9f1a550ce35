"""The mapped words in which a worker process says what it does."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from runner.core.wire_format import wire
from runner.node.clocks import PhaseWords


class StatusWords:
    """Makes the file, all zero, and reads it. A word is never seen half written."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(descriptor, wire.STATUS_FILE_BYTES)
            self._map = mmap.mmap(descriptor, wire.STATUS_FILE_BYTES, prot=mmap.PROT_READ)
        finally:
            os.close(descriptor)
        self._words = memoryview(self._map).cast("Q")

    def read(self) -> PhaseWords:
        words = self._words
        # The phase first: the writer sets the time before it, so this reader may
        # see a newer time with an older phase, never a timeout that is none.
        phase = words[wire.WORD_PHASE]
        return PhaseWords(
            phase=phase >> 32,
            mini_batch=phase & 0xFFFFFFFF,
            since_ns=words[wire.WORD_SINCE],
            try_number=words[wire.WORD_TRY],
            done=words[wire.WORD_DONE],
        )

    def close(self) -> None:
        self._words.release()
        self._map.close()
