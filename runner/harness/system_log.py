"""The process file: what this process did, a line an event.

Source: "Process file" of the ParallelRunStep page: time|level|pid|thread|text.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from .segment import open_for_append, write_all


class Clock:
    """Turns microseconds since 1970 into text. Many lines are of one millisecond, so the
    last text is kept, and the text of its second."""

    def __init__(self) -> None:
        self._second = -1
        self._second_text = ""
        self._millisecond = -1
        self._text = ""

    def stamp(self, at_us: int) -> str:
        """Return ``2026-01-31 09:15:02,123``, UTC."""
        millisecond = at_us // 1000
        if millisecond != self._millisecond:
            self._millisecond = millisecond
            second = millisecond // 1000
            if second != self._second:
                self._second = second
                self._second_text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(second))
            self._text = "%s,%03d" % (self._second_text, millisecond % 1000)
        return self._text


def take_all(kept: deque) -> list:
    """Return what stands in the queue and remove it. Another thread may go on appending:
    what comes meanwhile stays."""
    take = kept.popleft
    return [take() for _ in range(len(kept))]


class SystemLog:
    """Collects lines; ``flush`` writes them, once a block."""

    def __init__(self, path: str) -> None:
        self._descriptor = open_for_append(path)
        self._tail = "%d|%d|" % (os.getpid(), threading.get_ident())
        self._lines: deque[str] = deque()
        self.add = self._lines.append  # a whole line without its end
        self._is_complained = False
        self._clock = Clock()
        self._millisecond = -1
        self._prefix = ""
        self._iso_millisecond = -1
        self._iso = ""

    def prefix(self, at_us: int) -> str:
        """Return the beginning of an INFO line, up to its text."""
        millisecond = at_us // 1000
        if millisecond != self._millisecond:
            self._millisecond = millisecond
            self._prefix = "%s|INFO|%s" % (self._clock.stamp(at_us), self._tail)
        return self._prefix

    def iso(self, at_us: int) -> str:
        """Return ``2026-01-31T09:15:02.123``, UTC."""
        millisecond = at_us // 1000
        if millisecond != self._iso_millisecond:
            self._iso_millisecond = millisecond
            self._iso = self._clock.stamp(at_us).replace(" ", "T").replace(",", ".")
        return self._iso

    def say(self, text: str, level: str = "INFO") -> None:
        """Keep a line of this moment; a text of several lines stays one."""
        stamp = self._clock.stamp(time.time_ns() // 1000)
        self.add("%s|%s|%s%s" % (stamp, level, self._tail, text.replace("\n", "\\n")))

    def flush(self) -> None:
        """Write what was kept. A log that cannot be written ends no job: it is said once."""
        lines = take_all(self._lines)
        if not lines:
            return
        lines.append("")
        try:
            write_all(self._descriptor, "\n".join(lines).encode("utf-8", "backslashreplace"))
        except OSError as error:
            if not self._is_complained:
                self._is_complained = True
                os.write(2, "process file not writable: {}\n".format(error).encode())
