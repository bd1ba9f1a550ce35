"""Take what stands in the report list, write it in one transaction, then trim the list."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction

from prsweb.jobs.services.recording import Recorded, Recording
from runner.core.blocks import Block, count_records, is_block, parse_block
from runner.core.leases import Range
from runner.core.messages import MalformedMessage, Report, parse_report
from runner.core.thresholds import Tally
from runner.orchestrator.mini_batch_report import MiniBatchReport
from runner.orchestrator.participants import Happened, Participants

logger = logging.getLogger(__name__)

MOST_RECORDS = 10_000  # of one transaction
KEPT_DURATIONS = 200


@dataclass
class Sorted:
    """Reports of one transaction, told apart."""

    blocks: list[Block] = field(default_factory=list)
    others: list[Report] = field(default_factory=list)
    taken: int = 0  # entries of the list, those dropped too


@dataclass
class Taken:
    """What one transaction has come to."""

    entries: int
    put_back: list[Range]
    happened: Happened
    ended: int  # mini-batches


class Recorder:
    """Keeps the tally of the job: what the Job row says, as of the last commit."""

    def __init__(
        self,
        recording: Recording,
        participants: Participants,
        report: MiniBatchReport,
        tally: Tally,
        *,
        repeated: int,
    ) -> None:
        self._recording = recording
        self._participants = participants
        self._report = report
        self.tally = tally
        self.repeated = repeated
        self.durations: deque[float] = deque(maxlen=KEPT_DURATIONS)  # seconds

    @property
    def retrying(self) -> set[int]:
        """Mini-batches that failed and wait for another try."""
        return set(self._recording.retrying)

    @property
    def retrying_tries(self) -> dict[int, int]:
        """The same, with the number of the last failed try of each."""
        return self._recording.retrying

    def stop_trying(self) -> None:
        """Let failed tries lead to nothing: the job is being stopped."""
        self._recording.is_stopping = True

    def take(self, reports: Sequence[bytes], *, is_replay: bool = False) -> Taken:
        """Record as many of ``reports`` as one transaction should hold.

        ``is_replay`` skips blocks that are recorded already. Raises StaleState.
        """
        batch = sort_reports(reports)
        if is_replay:
            batch.blocks = [one for one in batch.blocks if not self._recording.is_known(one)]
        happened, recorded = Happened(), Recorded()
        names = self._participants.node_names
        with transaction.atomic():
            for report in batch.others:
                self._participants.take(report, happened)
            if batch.blocks or batch.others:
                self._know_nodes(batch.blocks)
                recorded = self._recording.record(batch.blocks, node_names=names)
        self._recording.settled(recorded)
        self._report.add(recorded.tries, names)
        return self._note(batch, recorded, happened)

    def _know_nodes(self, blocks: Sequence[Block]) -> None:
        if any(one.node_index not in self._participants.node_names for one in blocks):
            self._participants.refresh()

    def _note(self, batch: Sorted, recorded: Recorded, happened: Happened) -> Taken:
        counts = recorded.counts
        old = self.tally
        self.tally = Tally(
            created=old.created,
            is_listing=old.is_listing,
            succeeded=old.succeeded + counts.succeeded_count,
            partial=old.partial + counts.partial_count,
            failed=old.failed + counts.failed_count,
            succeeded_items=old.succeeded_items + counts.succeeded_items,
            failed_items=old.failed_items + counts.failed_items,
            results=old.results + counts.result_count,
        )
        self.repeated += counts.repeated_tries
        if recorded.last_total_us is not None:
            self.durations.append(recorded.last_total_us / 1e6)
        if recorded.tries:
            happened.has_ended_something = True
            happened.kinds.add("mini_batches")
        if recorded.has_errors:
            happened.kinds.add("errors")
        return Taken(batch.taken, recorded.put_back, happened, counts.ended)


def sort_reports(reports: Sequence[bytes]) -> Sorted:
    """Tell reports apart, as many as fit into one transaction; drop what is none."""
    batch, records = Sorted(), 0
    for report in reports:
        count = count_records(report)
        if batch.taken and records + count > MOST_RECORDS:
            break
        records += count
        batch.taken += 1
        try:
            if is_block(report):
                batch.blocks.append(parse_block(report))
            else:
                batch.others.append(parse_report(report))
        except MalformedMessage as malformed:
            logger.warning("report dropped: %s", malformed)
    return batch
