"""Start a job's command, keep its output, tell its exit code, leave nothing of it.

A process of its own beside the command: ``python -m runner.node.command_guard
CONTROL_FD REPORT_FD``, with a Plan as JSON on standard input. It outlives the
node agent by a few seconds: when the control pipe closes, the command is
stopped. Standard library only, for there is one per node.

Control pipe, agent -> guard, text lines: ``stop GRACE_SECONDS``.
Report pipe, guard -> agent, JSON lines: a GuardReport each.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.node.line_times import PAIR, index_path
from runner.node.process_tree import (
    become_subreaper,
    find_descendants,
    is_alive,
    read_parents,
    signal_all,
)

READ_BYTES = 1 << 18
AGENT_GONE_GRACE_SECONDS = 5.0
CLOSE_SECONDS = 2.0  # output after SIGKILL still belongs to the log for so long
MEMORY_SECONDS = 1.0  # between two looks
FIND_SECONDS = 0.05  # between two looks for what is left
UNKILLABLE_SECONDS = 10.0  # after SIGKILL: an uninterruptible read; it is left behind
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
OUT_OF_MEMORY = "OutOfMemoryError: Container killed due to memory usage"


@dataclass(frozen=True)
class Plan:
    argv: list[str]
    environment: dict[str, str]
    work_dir: str
    log: str
    exit_file: str  # the end, kept for whoever comes after a crash of the agent
    grace_seconds: float  # for what a command leaves behind that ended by itself
    memory_limit_bytes: int  # 0: none
    node_name: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class GuardReport:
    """``started`` once exec has succeeded, ``failed`` when it did not, ``ended`` when
    nothing of the command is left."""

    event: str
    pid: int = 0
    reason: str = ""
    return_code: int | None = None  # of the command itself, minus the signal
    at: float = 0.0  # seconds since 1970; of ``ended``: when the command itself ended
    is_stopped: bool = False  # it was told to stop before it ended

    def to_line(self) -> bytes:
        return (json.dumps(asdict(self)) + "\n").encode()

    @classmethod
    def from_line(cls, line: bytes) -> GuardReport:
        return cls(**json.loads(line))


class Output:
    """The log, as written, and the times of its lines."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._log = os.open(log, flags, 0o644)
        self._index = os.open(index_path(log), flags, 0o644)
        self._size = os.fstat(self._log).st_size
        self._is_broken = False

    def write(self, data: bytes) -> None:
        """Append. A disk that is full loses output, but never the exit code."""
        if self._is_broken:
            return
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._log, left) :]
            self._size += len(data)
            self._note_time()
        except OSError as error:
            self._is_broken = True
            _complain(f"output is lost from here on: {error}")

    def _note_time(self) -> None:
        os.write(self._index, PAIR.pack(self._size, time.time_ns() // 1_000_000))


class CommandGuard:
    def __init__(self, plan: Plan, control: int, report: int) -> None:
        self._plan = plan
        self._control = control
        self._report = report
        self._output = Output(Path(plan.log))
        self._selector = selectors.DefaultSelector()
        self._pid = 0
        self._return_code: int | None = None
        self._ended_at = 0.0
        self._reason = ""
        self._is_stopped = False
        self._kill_at: float | None = None  # monotonic; set once it is being stopped
        self._memory_at = time.monotonic()

    def run(self) -> None:
        become_subreaper()
        try:
            output = self._start()
        except OSError as error:
            self._tell(GuardReport("failed", reason=describe_start_error(error, self._plan)))
            return
        self._tell(GuardReport("started", pid=self._pid, at=time.time()))
        self._watch(output)
        self._drain(output)
        self._finish()

    def _start(self) -> int:
        """Start the command; return the end of its output pipe that is read."""
        if not self._plan.argv:
            raise FileNotFoundError(0, "no command")
        output, write_end = os.pipe2(os.O_CLOEXEC)
        try:
            # Waited for in _reap, beside the descendants that come to us.
            self._process = subprocess.Popen(
                self._plan.argv,
                env=self._plan.environment,
                cwd=self._plan.work_dir,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        self._pid = self._process.pid
        os.set_blocking(output, False)
        return output

    # -- the loop ----------------------------------------------------------------

    def _watch(self, output: int) -> None:
        """Copy output until nothing of the command is left."""
        self._selector.register(output, selectors.EVENT_READ, self._copy)
        self._selector.register(self._control, selectors.EVENT_READ, self._obey)
        pidfd = os.pidfd_open(self._pid)
        self._selector.register(pidfd, selectors.EVENT_READ, lambda _: None)
        while True:
            self._reap()
            if self._return_code is not None:
                with suppress(KeyError):
                    self._selector.unregister(pidfd)
                if not self._stop_what_is_left():
                    return
            self._kill_if_due()
            self._look_at_memory()
            for key, _ in self._selector.select(self._sleep_seconds()):
                key.data(key.fd)

    def _sleep_seconds(self) -> float:
        if self._kill_at is not None or self._return_code is not None:
            return FIND_SECONDS
        return MEMORY_SECONDS

    def _copy(self, output: int) -> bool:
        """Copy what has come; False when there is no more for now, or ever."""
        try:
            data = os.read(output, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            with suppress(KeyError):
                self._selector.unregister(output)
            return False
        self._output.write(data)
        return True

    def _obey(self, control: int) -> None:
        line = os.read(control, 4096)
        if not line:  # the agent is gone
            self._selector.unregister(control)
            self._stop(AGENT_GONE_GRACE_SECONDS)
            return
        for order in line.decode().splitlines():
            word, _, seconds = order.partition(" ")
            if word == "stop":
                self._stop(float(seconds))

    def _reap(self) -> None:
        """Take the exit status of the command, and of descendants that came to us."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self._note_end(os.waitstatus_to_exitcode(status))

    def _note_end(self, return_code: int) -> None:
        self._return_code = self._process.returncode = return_code
        self._ended_at = time.time()
        end = {"return_code": return_code, "at": self._ended_at, "is_stopped": self._is_stopped}
        try:
            path = Path(self._plan.exit_file)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text(json.dumps(end))
            unfinished.rename(path)
        except OSError as error:
            _complain(f"the exit file cannot be written: {error}")

    # -- stopping ----------------------------------------------------------------

    def _stop(self, grace_seconds: float) -> None:
        """SIGTERM to every process of the tree; SIGKILL follows. Once only."""
        if self._kill_at is not None:
            return
        self._is_stopped = self._return_code is None
        self._kill_at = time.monotonic() + grace_seconds
        signal_all(self._find_tree(), signal.SIGTERM)

    def _stop_what_is_left(self) -> bool:
        """Stop what an ended command has left behind; False when nothing is."""
        left = self._find_tree()
        if not left:
            return False
        if self._kill_at is None:
            self._stop(self._plan.grace_seconds)
        if time.monotonic() > (self._kill_at or 0.0) + UNKILLABLE_SECONDS:
            _complain(f"processes {sorted(left)} outlive SIGKILL")
            return False
        return True

    def _kill_if_due(self) -> None:
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            signal_all(self._find_tree(), signal.SIGKILL)

    def _find_tree(self) -> set[int]:
        # Orphans come to us, the subreaper, so everything is below this process.
        found = find_descendants([os.getpid()], read_parents())
        return {pid for pid in found if is_alive(pid)}

    def _look_at_memory(self) -> None:
        limit, now = self._plan.memory_limit_bytes, time.monotonic()
        if not limit or now < self._memory_at or self._return_code is not None:
            return
        self._memory_at = now + MEMORY_SECONDS
        if sum(map(_own_memory_bytes, self._find_tree())) > limit:
            self._reason = OUT_OF_MEMORY
            self._kill_at = now

    # -- end ---------------------------------------------------------------------

    def _drain(self, output: int) -> None:
        """Copy the rest. A process that could not be killed may hold the pipe."""
        deadline = time.monotonic() + CLOSE_SECONDS
        while self._copy(output) and time.monotonic() < deadline:
            pass

    def _finish(self) -> None:
        self._tell(
            GuardReport(
                "ended",
                pid=self._pid,
                reason=self._reason,
                return_code=self._return_code,
                at=self._ended_at,
                is_stopped=self._is_stopped,
            )
        )

    def _tell(self, report: GuardReport) -> None:
        with suppress(BrokenPipeError):  # the agent is gone; the exit file tells
            os.write(self._report, report.to_line())


def describe_start_error(error: OSError, plan: Plan) -> str:
    """Return ``CannotStartContainerError: …``, what is wrong and on which node."""
    command = plan.argv[0] if plan.argv else ""
    if not plan.argv:
        what = "no command"
    elif not Path(plan.work_dir).is_dir():
        what = f"folder missing: {plan.work_dir}"
    elif isinstance(error, FileNotFoundError):
        what = f"command not found: {command}"
    elif isinstance(error, PermissionError):
        what = f"not executable: {command}"
    else:
        what = f"{command}: {error.strerror}"
    return f"CannotStartContainerError: {what} (node {plan.node_name})"


def read_exit_file(path: Path) -> Mapping[str, Any] | None:
    """Return ``return_code``, ``at`` and ``is_stopped``, or None when there is none."""
    try:
        end = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return end if isinstance(end, dict) else None


def _own_memory_bytes(pid: int) -> int:
    """Return the resident bytes, without what is shared with others."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * PAGE_BYTES


def _complain(text: str) -> None:
    """To the node's own log."""
    sys.stderr.write(f"command guard {os.getpid()}: {text}\n")


def main() -> None:
    control, report = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (control, report):
        os.set_inheritable(descriptor, False)
    # Ctrl-C in a terminal is the supervisor's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    CommandGuard(Plan(**json.load(sys.stdin)), control, report).run()


if __name__ == "__main__":
    main()
