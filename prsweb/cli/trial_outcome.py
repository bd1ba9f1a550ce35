"""What a trial came to, summed up from its events."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from runner.core.trial_events import InitTried, MiniBatchTried, TrialError, TrialEvent

MISSING_RESULTS = "missing_results"
NOT_REPORTING = (
    "run() returned no results at all; with summary_only a job takes that as not reporting, "
    "and does not fail for it"
)


@dataclass
class TrialOutcome:
    is_summary_only: bool = False
    mini_batches: list[MiniBatchTried] = field(default_factory=list)
    init_error: TrialError | None = None

    def add(self, event: TrialEvent) -> None:
        if isinstance(event, MiniBatchTried):
            self.mini_batches.append(event)
        elif isinstance(event, InitTried) and event.error is not None:
            self.init_error = event.error

    @property
    def is_good(self) -> bool:
        """Whether init() and every mini-batch succeeded."""
        return self.init_error is None and (not self._failed or self._is_not_reporting)

    @property
    def summary(self) -> str:
        if self.init_error is not None:
            return f"failed before run(): {self.init_error.title}"
        count = len(self.mini_batches)
        if self._is_not_reporting:
            return f"{_batches(count)} ran; {NOT_REPORTING}"
        if not self._failed:
            return f"{_batches(count)} succeeded"
        error = self._failed[0].error
        title = f": {error.title}" if error is not None else ""
        return f"{len(self._failed)} of {_batches(count)} failed{title}"

    def to_json(self) -> dict[str, Any]:
        """Return the value of ``--json``; ``init_error`` only when init() failed."""
        value: dict[str, Any] = {
            "mini_batches": [_to_json(one) for one in self.mini_batches],
            "rows": [row for one in self.mini_batches for row in one.rows],
        }
        if self.init_error is not None:
            value["init_error"] = asdict(self.init_error)
        return value

    @property
    def _failed(self) -> list[MiniBatchTried]:
        return [one for one in self.mini_batches if one.error is not None]

    @property
    def _is_not_reporting(self) -> bool:
        """As a job with summary_only judges it: nothing raised, nothing was returned."""
        return (
            self.is_summary_only
            and bool(self._failed)
            and all(one.results == 0 for one in self.mini_batches)
            and all(
                one.error is not None and one.error.kind == MISSING_RESULTS
                for one in self._failed
            )
        )


def _batches(count: int) -> str:
    return "1 mini-batch" if count == 1 else f"{count} mini-batches"


def _to_json(one: MiniBatchTried) -> dict[str, Any]:
    return {
        "index": one.index,
        "items": one.items,
        "succeeded": one.succeeded,
        "failed": one.failed,
        "error": None if one.error is None else asdict(one.error),
        "printed": dict(one.printed),
    }
