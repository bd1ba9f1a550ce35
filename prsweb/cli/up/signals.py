"""The signals that end ``prs up``."""

from __future__ import annotations

import signal
from threading import Event
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Set by the first signal (Ctrl-C, SIGTERM, a closed terminal); the second
    one sets ``hurry``."""

    def __init__(self) -> None:
        self.stop = Event()
        self.hurry = Event()
        self.first_signal: int | None = None

    def listen(self) -> None:
        for number in STOP_SIGNALS:
            # Under nohup a closed terminal is meant to end nothing.
            is_nohup = number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN
            if not is_nohup:
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.first_signal is None:
            self.first_signal = number
            self.stop.set()
        else:
            self.hurry.set()
