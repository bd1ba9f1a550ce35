"""What this process has done, on its way to the node agent.

Results first (segment), then the process file, then the block on the report pipe: a
block never promises what is not written. Everything is collected and written a block
at a time, at a lease's end and within 50 ms, for each write costs as much as a
mini-batch does.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections import deque

from . import wire
from .segment import Segment, SegmentNotWritable, write_all
from .system_log import SystemLog, take_all

BLOCK_NS = 50 * 1000 * 1000
QUIET_CHECKS = 20  # without anything to write, until the thread sleeps
MOST_WARNINGS = 20  # frames of one code; the process file has all of them
# What a script brings about that closes every descriptor, or sets a limit to files.
SCRIPTS_DOING = (errno.EBADF, errno.EFBIG, errno.EMFILE)


class Reporter:
    """Collects tries and hands them over; shared by the main thread and one that sees
    to it that a long run() does not hold back what ended before it."""

    def __init__(
        self, report_fd: int, segment: Segment, log: SystemLog, source: tuple[int, int, int]
    ) -> None:
        self._report_fd = report_fd
        self.segment = segment
        self.log = log
        self._source = source  # assignment, node index, process
        # Only handing over takes the lock. What is kept comes without: a queue takes and
        # gives one thing at a time.
        self._lock = threading.Lock()
        self._tries: deque[tuple[bytes, bytes, dict | None]] = deque()  # record, rows, error
        self._columns: deque[tuple[int, list[str] | None]] = deque()
        self._printed: deque[bytes] = deque()
        self._lease_id = 0
        self._since_ns = 0  # when the oldest thing not handed over came; 0: nothing is kept
        self._is_thread_awake = False
        self._wake = threading.Event()
        self._warning_counts: dict[str, int] = {}

    def start(self) -> None:
        threading.Thread(target=self._keep_handing_over, name="prs-report", daemon=True).start()

    def begin_lease(self, lease_id: int) -> None:
        self._lease_id = lease_id

    def note(self, line: str, now_ns: int) -> None:
        """Keep a line of the process file."""
        self.log.add(line)
        if not self._since_ns:
            self._begin_to_wait(now_ns)

    def add(
        self, record: bytes, rows: bytes, line: str, now_ns: int, error: dict | None
    ) -> bool:
        """Keep one ended try. Returns whether it is time to hand over."""
        self.log.add(line)
        self._tries.append((record, rows, error))
        since = self._since_ns
        if not since:
            self._begin_to_wait(now_ns)
            return False
        return now_ns - since >= BLOCK_NS

    def note_columns(self, offset: int, columns: list[str] | None) -> None:
        """The rows from ``offset`` of the segment on have these columns."""
        self._columns.append((offset, columns))

    def note_printed(self, record: bytes) -> None:
        """Keep where stands what a try has printed."""
        self._printed.append(record)

    def hand_over(self) -> None:
        """Hand over what is kept; the lease goes on."""
        with self._lock:
            self._hand_over(wire.FRAME_BLOCK)

    def end_lease(self) -> None:
        """Hand over what is kept and say that the lease has ended."""
        with self._lock:
            self._hand_over(wire.FRAME_LEASE_DONE)

    def say(self, text: str, level: str = "INFO") -> None:
        """Write a line into the process file at once."""
        with self._lock:
            self.log.say(text, level)
            self.log.flush()

    def send(self, kind: int, body: dict) -> None:
        """Send a frame with a JSON body; what is kept goes first."""
        with self._lock:
            self._hand_over(wire.FRAME_BLOCK)
            self._send(kind, 0, json.dumps(body).encode("utf-8"))

    def warn(self, code: str, text: str, mini_batch: int | None) -> None:
        """Tell the job of something that changes no count."""
        with self._lock:
            self.log.say(text, "WARNING")
            count = self._warning_counts.get(code, 0) + 1
            self._warning_counts[code] = count
            if count <= MOST_WARNINGS:
                body = {"code": code, "text": text, "mini_batch": mini_batch}
                self._send(wire.FRAME_WARNING, 0, json.dumps(body).encode("utf-8"))

    def descriptors(self) -> tuple[int, int]:
        """Return what only this process may write to: report pipe and segment."""
        return self._report_fd, self.segment.descriptor

    def _begin_to_wait(self, now_ns: int) -> None:
        self._since_ns = now_ns
        if not self._is_thread_awake:
            self._is_thread_awake = True
            self._wake.set()

    def _hand_over(self, kind: int) -> None:
        self._since_ns = 0  # before anything is taken: what comes later waits anew
        tries = take_all(self._tries)
        if self._columns:  # noted before their rows were kept
            self._or_leave(self.segment.append_columns, take_all(self._columns))
        rows = b"".join([one[1] for one in tries])
        if rows:
            self._or_leave(self.segment.append, rows)
        if self._printed:
            self._or_leave(self.segment.append_printed, b"".join(take_all(self._printed)))
        self.log.flush()
        if tries or kind == wire.FRAME_LEASE_DONE:
            records = [one[0] for one in tries]
            errors = [one[2] for one in tries if one[2] is not None]
            block = wire.join_block(*self._source, records, not errors, errors)
            self._send(kind, self._lease_id, block)

    def _or_leave(self, write, what) -> None:  # type: ignore[no-untyped-def]
        try:
            write(what)
        except SegmentNotWritable as error:
            leave_unwritable(error)

    def _send(self, kind: int, lease_id: int, body: bytes) -> None:
        try:
            write_all(self._report_fd, wire.FRAME_HEAD.pack(kind, lease_id, len(body)) + body)
        except OSError as error:  # the agent is gone, and the guard is about to end us
            leave("report pipe not writable: {}".format(error), 1)

    def _keep_handing_over(self) -> None:
        quiet = 0
        while True:
            self._wake.wait()
            time.sleep(self._seconds_to_go())
            since = self._since_ns
            if not since:
                quiet += 1
            elif time.monotonic_ns() - since >= BLOCK_NS:
                quiet = 0
                self.hand_over()
            if quiet >= QUIET_CHECKS:
                quiet = 0
                self._fall_asleep()

    def _fall_asleep(self) -> None:
        self._is_thread_awake = False
        self._wake.clear()
        if self._since_ns:  # it came just before, and its thread believed us awake
            self._is_thread_awake = True
            self._wake.set()

    def _seconds_to_go(self) -> float:
        since = self._since_ns
        waited = time.monotonic_ns() - since if since else 0
        return max(BLOCK_NS - waited, 0) / 1e9


def leave(text: str, exit_code: int) -> None:
    """End the process at once, from whichever thread, saying why on descriptor 2 if
    that can be written: it may lie on the disk that is full, or be closed."""
    try:
        os.write(2, (text + "\n").encode("utf-8", "backslashreplace"))
    finally:
        os._exit(exit_code)


def leave_unwritable(error: SegmentNotWritable) -> None:
    cause = error.__cause__
    is_scripts_doing = isinstance(cause, OSError) and cause.errno in SCRIPTS_DOING
    code = wire.EXIT_FILES_TAKEN if is_scripts_doing else wire.EXIT_SEGMENT_NOT_WRITABLE
    leave("segment not writable: {}".format(error), code)
