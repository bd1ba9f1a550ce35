"""The process file: what this process did, a line an event.

Source: "Process file" of the ParallelRunStep page: time|level|pid|thread|text.
"""

from __future__ import annotations

import os
import threading
import time

from .segment import open_for_append, write_all


class Clock:
    """Turns microseconds since 1970 into text; the second's text is made once."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def stamp(self, at_us: int) -> str:
        """Return ``2026-01-31 09:15:02,123``, UTC."""
        second, rest = divmod(at_us, 1000000)
        if second != self._second:
            self._text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(second))
            self._second = second
        return "%s,%03d" % (self._text, rest // 1000)

    def iso(self, at_us: int) -> str:
        """Return ``2026-01-31T09:15:02.123``, UTC."""
        return self.stamp(at_us).replace(" ", "T").replace(",", ".")


class SystemLog:
    """Collects lines; ``flush`` writes them, once a block."""

    def __init__(self, path: str) -> None:
        self._descriptor = open_for_append(path)
        self._tail = "%d|%d|" % (os.getpid(), threading.get_ident())
        self._lines: list[str] = []
        self._is_complained = False
        self._clock = Clock()
        self.iso = self._clock.iso

    def prefix(self, at_us: int, level: str = "INFO") -> str:
        """Return the beginning of a line, up to its text."""
        return "%s|%s|%s" % (self._clock.stamp(at_us), level, self._tail)

    def add(self, line: str) -> None:
        """Keep a whole line without its end."""
        self._lines.append(line)

    def say(self, text: str, level: str = "INFO") -> None:
        """Keep a line of this moment; a text of several lines stays one."""
        self.add(self.prefix(time.time_ns() // 1000, level) + text.replace("\n", "\\n"))

    def flush(self) -> None:
        """Write what was kept. A log that cannot be written ends no job: it is said once."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        lines.append("")
        try:
            write_all(self._descriptor, "\n".join(lines).encode("utf-8", "backslashreplace"))
        except OSError as error:
            if not self._is_complained:
                self._is_complained = True
                os.write(2, "process file not writable: {}\n".format(error).encode())
