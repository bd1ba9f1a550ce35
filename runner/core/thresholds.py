"""When failures end a job. Pure, looked at with every batch of reports and at the end.

Only final outcomes count, so the answer does not depend on when one looks.
Source: error handling of ParallelRunStep,
https://learn.microsoft.com/azure/machine-learning/reference-yaml-job-parallel
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER = -1


@dataclass(frozen=True)
class Limits:
    error_threshold: int = NEVER  # failed items
    mini_batch_error_threshold: int = NEVER  # mini-batches failed or partial
    allowed_failed_percent: float = 100.0  # the same, of all mini-batches
    is_summary_only: bool = False


@dataclass(frozen=True)
class Tally:
    """Final outcomes so far."""

    created: int = 0  # mini-batches in the manifest
    is_listing: bool = False
    succeeded: int = 0
    partial: int = 0
    failed: int = 0
    succeeded_items: int = 0
    failed_items: int = 0
    results: int = 0  # returned by run(), all mini-batches

    @property
    def ended(self) -> int:
        return self.succeeded + self.partial + self.failed

    @property
    def is_complete(self) -> bool:
        """Whether every mini-batch there will be has its outcome."""
        return not self.is_listing and self.ended >= self.created

    def items_in_all(self, listed: int) -> int:
        """Return the items of the job, of which ``listed`` were counted by listing.

        A table may turn out to have more or fewer rows when it is loaded (a line of
        blanks, text of unknown length); what was loaded counts, so that succeeded and
        failed items add up in the end.
        """
        loaded = self.succeeded_items + self.failed_items
        return loaded if self.is_complete and self.ended else max(listed, loaded)


@dataclass(frozen=True)
class Exceeded:
    setting: str
    limit: float
    value: float
    failed: int  # failed items or mini-batches behind the value


def find_exceeded(limits: Limits, tally: Tally) -> Exceeded | None:
    """Return the first threshold that is exceeded (more than its value), or None."""
    items = limits.error_threshold
    if items != NEVER and tally.failed_items > items:
        return Exceeded("error_threshold", items, tally.failed_items, tally.failed_items)
    failed = count_failed(limits, tally)
    most = limits.mini_batch_error_threshold
    if most != NEVER and failed > most:
        return Exceeded("mini_batch_error_threshold", most, failed, failed)
    if tally.is_listing or not tally.created:
        return None
    percent = 100.0 * failed / tally.created
    if percent > limits.allowed_failed_percent:
        allowed = limits.allowed_failed_percent
        return Exceeded("allowed_failed_percent", allowed, percent, failed)
    return None


def is_not_reporting(limits: Limits, tally: Tally) -> bool:
    """Whether the script returns an empty result for every mini-batch, as an
    official example does. One result that is not empty ends this for good."""
    return limits.is_summary_only and tally.partial > 0 and tally.results == 0


def count_failed(limits: Limits, tally: Tally) -> int:
    """Return the mini-batches that count as failed; those of a script that does
    not report are left out, exceptions always count."""
    if is_not_reporting(limits, tally):
        return tally.failed
    return tally.failed + tally.partial


def is_nothing_succeeded(limits: Limits, tally: Tally) -> bool:
    """Whether append_row has nothing to write, which fails the job at its end."""
    has_run = tally.is_complete and tally.created > 0
    has_bad_end = tally.partial + tally.failed > 0
    return has_run and has_bad_end and not limits.is_summary_only and tally.succeeded_items == 0
