"""One worker process: the user's interpreter running the harness."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from runner.core.layout import process_name
from runner.core.wire_format import wire
from runner.node.clocks import Expiry, PhaseWords
from runner.node.frames import Frame, FrameReader
from runner.node.harness_config import (
    HARNESS,
    ProcessIdentity,
    StepPlace,
    write_harness_config,
)
from runner.node.held_leases import HeldLease
from runner.node.last_words import size_of
from runner.node.lease_sizing import LeasePace
from runner.node.process_exit import ProcessExit
from runner.node.process_tree import signal_group
from runner.node.status_words import StatusWords

logger = logging.getLogger(__name__)

REPORT_PIPE_BYTES = 1 << 20  # a process may write while the agent is busy elsewhere
STACKS_SIGNAL = signal.SIGUSR2  # the harness writes the stacks of its threads
STACKS_SECONDS = 0.15
FIRST_OWN_LEASE_ID = 1 << 31


class CannotStartProcess(Exception):
    """The interpreter cannot be executed. The message names it and says why."""


@dataclass(frozen=True)
class Launch:
    """How the worker processes of a node are started."""

    place: StepPlace
    python: str
    environment: Mapping[str, str]


class WorkerProcess:
    """Started when made. Call ``close`` once it has ended and its pipe is read."""

    def __init__(
        self, launch: Launch, identity: ProcessIdentity, *, device: str | None
    ) -> None:
        """``device`` is the value of CUDA_VISIBLE_DEVICES; None leaves it unset.

        Raises CannotStartProcess, and OSError when its files cannot be made.
        """
        self.number = identity.number
        self.gpu = identity.gpu
        self.segment = launch.place.segment(identity)
        self._user_error = launch.place.user_error(identity.number)
        self.started_at = time.monotonic()
        self.held: list[HeldLease] = []  # oldest first
        self.pace = LeasePace()
        self.last_done_at = self.started_at
        self.is_ready = False  # past import and init()
        self.is_init_failed = False  # has said so
        self.is_asked_to_end = False
        self.is_gone_well = False  # shutdown() is over
        self.expiry: Expiry | None = None  # the limit it was killed for
        self.stacks_from = 0  # where its stacks begin in its file of errors
        self.kill_at: float | None = None  # monotonic
        self.is_killed = False  # by us
        self.is_closed = False
        self.peak_rss_bytes: int | None = None
        self.frames = FrameReader()
        self._next_own_id = FIRST_OWN_LEASE_ID
        self._config = write_harness_config(launch.place, identity)
        self._status = StatusWords(launch.place.status_file(identity))
        self._start(launch, _own_environment(launch, identity, device))

    def _start(self, launch: Launch, environment: dict[str, str]) -> None:
        control_read, self._control = os.pipe2(os.O_CLOEXEC)
        self.report, report_write = os.pipe2(os.O_CLOEXEC)
        with suppress(OSError, AttributeError):  # over the limit of an ordinary user
            fcntl.fcntl(self.report, fcntl.F_SETPIPE_SZ, REPORT_PIPE_BYTES)
        os.set_blocking(self.report, False)
        os.set_blocking(self._control, False)
        argv = [
            launch.python,
            str(HARNESS),
            str(self._config),
            str(control_read),
            str(report_write),
        ]
        note_launch(launch.place, self.number, " ".join(argv))
        try:
            self._process = _spawn(
                argv,
                launch,
                environment,
                number=self.number,
                pass_fds=(control_read, report_write),
            )
        except OSError as error:
            self.close()
            reason = f"{launch.python}: {error.strerror}"
            note_launch(launch.place, self.number, f"cannot start: {reason}")
            raise CannotStartProcess(reason) from None
        finally:
            os.close(control_read)
            os.close(report_write)
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)

    def __str__(self) -> str:
        return process_name(self.number)

    def words(self) -> PhaseWords:
        return self._status.read()

    def read_frames(self) -> list[Frame] | None:
        """Return the frames that are whole by now; None when nothing waits.

        Raises BrokenFrame, and EOFError once the pipe is closed and read.
        """
        try:
            data = os.read(self.report, REPORT_PIPE_BYTES)
        except BlockingIOError:
            return None
        if not data:
            raise EOFError
        return self.frames.feed(data)

    def give(self, lease: HeldLease) -> None:
        """Hand over a lease; the process may be dead, which is noticed elsewhere."""
        if any(lease.local_id == other.local_id for other in self.held):
            # A queue made anew counts from 1 again.
            lease.local_id, self._next_own_id = self._next_own_id, self._next_own_id + 1
        self.held.append(lease)
        self._tell(f"lease {lease.local_id} {lease.range}\n")

    def find_held(self, local_id: int) -> HeldLease | None:
        return next((lease for lease in self.held if lease.local_id == local_id), None)

    @property
    def is_waiting_for_work(self) -> bool:
        """Past init(), with nothing to do and nothing promised."""
        is_idle = self.words().phase == wire.PHASE_IDLE
        return self.is_ready and not self.held and not self.is_asked_to_end and is_idle

    def ask_to_end(self) -> None:
        self.is_asked_to_end = True
        self._tell("end\n")

    def ask_for_stacks(self) -> None:
        self.stacks_from = size_of(self._user_error)
        self._signal(STACKS_SIGNAL)

    def stop(self, *, grace_seconds: float, now: float) -> None:
        """SIGTERM to the group; SIGKILL follows at ``kill_at``."""
        self.is_asked_to_end = True
        signal_group(self.pid, signal.SIGTERM)
        self.kill_within(grace_seconds, now=now)

    def kill_within(self, seconds: float, *, now: float) -> None:
        at = now + seconds
        self.kill_at = at if self.kill_at is None else min(self.kill_at, at)

    def kill(self) -> None:
        self.is_killed = True
        self.kill_at = None
        signal_group(self.pid, signal.SIGKILL)

    def poll(self) -> ProcessExit | None:
        """Return how it ended, or None while it lives."""
        code = self._process.poll()
        return None if code is None else ProcessExit.from_return_code(code)

    def forget_config(self) -> None:
        """Remove the configuration, which may hold secrets, once it was read."""
        self._config.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the pipes and the status file. Kills what is left of the group."""
        self.is_closed = True
        if hasattr(self, "pid"):
            signal_group(self.pid, signal.SIGKILL)
            os.close(self.pidfd)
        self.forget_config()
        os.close(self._control)
        os.close(self.report)
        self._status.close()

    def _tell(self, line: str) -> None:
        try:
            os.write(self._control, line.encode())
        except BrokenPipeError:
            return
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
            # 64 KiB of unread lines: it does not read at all, so it cannot go on.
            logger.error("%s does not read its control pipe", self)
            self.kill()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)


def note_launch(place: StepPlace, number: int, text: str) -> None:
    """Add a line to the job's driver log, which all its nodes and its master share."""
    at = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "")
    line = f"{at} node {place.assignment.node_name} {process_name(number)}: {text}\n"
    with suppress(OSError):
        place.folder.driver_log.parent.mkdir(parents=True, exist_ok=True)
        with place.folder.driver_log.open("ab") as file:
            file.write(line.encode("utf-8", "backslashreplace"))


def _own_environment(
    launch: Launch, identity: ProcessIdentity, device: str | None
) -> dict[str, str]:
    environment = {**launch.environment, "PRSWEB_PROCESS": process_name(identity.number)}
    if device is not None:
        environment["CUDA_VISIBLE_DEVICES"] = device
    return environment


def _spawn(
    argv: list[str],
    launch: Launch,
    environment: Mapping[str, str],
    *,
    number: int,
    pass_fds: tuple[int, ...],
) -> subprocess.Popen[bytes]:
    place = launch.place
    node = place.assignment.node_name
    with (
        _open_log(place.folder.descriptor_log(node, number, "stdout")) as out,
        _open_log(place.folder.descriptor_log(node, number, "stderr")) as err,
    ):
        return subprocess.Popen(
            argv,
            env=dict(environment),
            cwd=place.work_dir,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=pass_fds,
            start_new_session=True,
        )


def _open_log(path: Path) -> FileIO:
    return path.open("ab", buffering=0)
