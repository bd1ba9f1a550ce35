"""How a command ends when it cannot do what it was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DONE = 0
ENDED_BADLY = 1  # it ran, and a job, test or promise failed
NOTHING_DONE = 2  # bad input, refused, server down
INTERRUPTED = 130  # Ctrl-C


@dataclass(frozen=True)
class Problem:
    """One broken rule of what was given."""

    path: str
    rule: str
    found: str  # empty: there is nothing to show

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        found = f" (found: {self.found})" if self.found else ""
        return f"{where}{self.rule}{found}"


class CommandFailed(Exception):
    """The command ends here. The message says why and what to do, in one line."""

    status = NOTHING_DONE

    def __init__(
        self, message: str, *, code: str = "invalid", problems: tuple[Problem, ...] = ()
    ) -> None:
        self.message = message
        self.code = code
        self.problems = problems
        super().__init__(message)

    def to_json(self) -> dict[str, Any]:
        """Return the error object that API and command line share."""
        problems = [vars(problem) for problem in self.problems]
        return {"error": {"code": self.code, "message": self.message, "problems": problems}}
