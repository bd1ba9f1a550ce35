"""The agent's end of a command's guard."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from runner.node.command_guard import GuardReport, Plan
from runner.node.process_exit import ProcessExit

PROJECT = Path(__file__).resolve().parent.parent.parent
GUARD = "runner.node.command_guard"
READ_BYTES = 65536


class GuardProcess:
    """Started when made. ``report`` is the descriptor to wait for."""

    def __init__(self, plan: Plan, environment: Mapping[str, str]) -> None:
        control_read, self._control = os.pipe2(os.O_CLOEXEC)
        self.report, report_write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.report, False)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", GUARD, str(control_read), str(report_write)],
                env={**environment, "PYTHONPATH": str(PROJECT)},
                cwd="/",
                stdin=subprocess.PIPE,
                pass_fds=(control_read, report_write),
                start_new_session=True,
            )
        finally:
            os.close(control_read)
            os.close(report_write)
        self._send_plan(plan)
        self._unread = b""

    def _send_plan(self, plan: Plan) -> None:
        """By a pipe, not a file: the environment of a job may hold secrets."""
        stdin = self._process.stdin
        if stdin is None:
            return
        with suppress(BrokenPipeError), stdin:
            stdin.write(plan.to_json().encode())

    def read_reports(self) -> list[GuardReport]:
        """Return what has come. Raises EOFError once the guard is gone."""
        try:
            data = os.read(self.report, READ_BYTES)
        except BlockingIOError:
            return []
        if not data:
            raise EOFError
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [GuardReport.from_line(line) for line in lines]

    def stop(self, grace_seconds: float) -> None:
        with suppress(BrokenPipeError):
            os.write(self._control, f"stop {grace_seconds:g}\n".encode())

    def wait(self, seconds: float) -> ProcessExit:
        """Return how the guard itself ended, killing it when it does not."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return ProcessExit.from_return_code(code)

    def close(self) -> None:
        os.close(self._control)
        os.close(self.report)
