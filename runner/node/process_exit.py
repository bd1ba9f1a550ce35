"""How a process ended, in numbers and in words. Pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessExit:
    exit_code: int | None  # None: ended by a signal
    signal_number: int | None

    @classmethod
    def from_return_code(cls, code: int) -> ProcessExit:
        """Read what subprocess gives: minus the signal, or the exit code."""
        if code < 0:
            return cls(None, -code)
        return cls(code, None)

    @property
    def shell_code(self) -> int:
        """The exit code as a shell and AWS Batch tell it: 128 + signal."""
        if self.signal_number is not None:
            return 128 + self.signal_number
        return self.exit_code or 0

    @property
    def error_kind(self) -> str:
        """``signal:11`` or ``exit:3``, as errors are grouped."""
        if self.signal_number is not None:
            return f"signal:{self.signal_number}"
        return f"exit:{self.exit_code}"

    def __str__(self) -> str:
        if self.signal_number is None:
            return f"exit code {self.exit_code}"
        return f"killed by signal {self.signal_number} ({signal_name(self.signal_number)})"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIG{number}"
