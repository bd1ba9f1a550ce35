"""Leases for the worker processes of a node, and the way of their reports.

Decides when to exchange and what an answer means; ``Exchanger`` sends. A report
is journaled when it comes and sent after that, so it may be sent again
whenever in doubt.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from runner.core.leases import ExchangeAnswer, ExchangeStatus, Lease
from runner.core.messages import Report, SamplesTaken
from runner.node.exchanger import Adopted, Answered, Asked, Exchanger, HeldBy
from runner.node.held_leases import HeldLease, Settlement, settle_rest
from runner.node.journal import Journal
from runner.node.outbox import Outbox
from runner.node.worker_process import WorkerProcess

logger = logging.getLogger(__name__)

# Reports of several processes leave together: those that end a lease while the
# process works on its next one, those in the midst of a lease a little later.
GATHER_SECONDS = 0.02
GATHER_LONG_SECONDS = 0.04
KEEP_SECONDS = 2.0  # an exchange at least so often: the queue may be new, or closed
HUNGRY_SECONDS = 0.5  # between two questions without an answer; orders ring earlier
BEHIND_SECONDS = 0.03
MISSING_SECONDS = 0.02
LONG_MISSING_SECONDS = 0.5
FIRST_MISSES = 100  # quick ones: the queue is about to be made


class Supply:
    def __init__(self, exchanger: Exchanger, journal: Journal) -> None:
        self.closed = ""  # "end", "stop" or "revoked": nothing is leased any more
        self.is_journal_broken = False
        self._exchanger = exchanger
        self._journal = journal
        self._outbox = Outbox()
        self._outbox_due = float("inf")  # when what waits must leave
        self._epoch = ""
        self._is_under_way = False
        self._quiet_until = 0.0  # nothing is asked before, unless there are reports
        self._keep_at = 0.0  # when to exchange though there is nothing to say
        self._send_after = 0.0  # nothing is sent before: the queue is missing
        self._misses = 0

    # -- what is to be told ------------------------------------------------------

    def report(self, report: Report, *, now: float) -> None:
        self.report_bytes(
            report.to_json(), now=now, is_kept=not isinstance(report, SamplesTaken)
        )

    def report_bytes(self, report: bytes, *, now: float, is_kept: bool = True) -> None:
        """Journal the report and let it wait for the next exchange."""
        if is_kept:
            self._keep(report)
        self._outbox.add_report(report)
        self._note_waiting(now + GATHER_LONG_SECONDS)

    def end_lease(self, lease: HeldLease, *, now: float) -> None:
        """The process is done with the lease; what it left out goes back."""
        self._outbox.add_settlement(settle_rest(lease))
        self._note_waiting(now + GATHER_SECONDS)

    def settle(self, settlement: Settlement, *, now: float) -> None:
        self._outbox.add_settlement(settlement)
        self._note_waiting(now)

    def ring(self) -> None:
        """There is something to lease, or the queue was made anew: ask now."""
        self._quiet_until = self._keep_at = 0.0

    @property
    def is_idle(self) -> bool:
        """Everything was handed over."""
        return not self._outbox and not self._is_under_way

    # -- exchanges ---------------------------------------------------------------

    def exchange_if_due(self, crew: Iterable[WorkerProcess], *, now: float) -> None:
        processes = list(crew)
        if self._is_under_way or now < self._due_at(processes):
            return
        wants = [] if self.closed else find_wants(processes)
        exchange = self._outbox.take(wants)
        self._outbox_due = float("inf")
        held = {lease.queue_id for one in processes for lease in one.held}
        held |= {*exchange.ended, *(one for one, _ in exchange.given_back)}
        self._is_under_way = True
        self._keep_at = now + KEEP_SECONDS
        self._exchanger.send(Asked(exchange, self._epoch, frozenset(held)))

    def seconds_until_due(self, crew: Iterable[WorkerProcess], *, now: float) -> float:
        """Return how long the loop may sleep; an answer wakes it anyway."""
        if self._is_under_way:
            return float("inf")
        return max(0.0, self._due_at(list(crew)) - now)

    def _due_at(self, processes: list[WorkerProcess]) -> float:
        is_hungry = not self.closed and any(not one.held and is_able(one) for one in processes)
        due = self._keep_at
        if is_hungry:
            due = min(due, self._quiet_until)
        if self._outbox:
            due = 0.0 if is_hungry or self.closed else min(due, self._outbox_due)
        return max(due, self._send_after)

    def take_answers(self, crew: Iterable[WorkerProcess], *, now: float) -> list[Lease]:
        """Return what was granted. Call it when the exchanger has rung."""
        granted: list[Lease] = []
        while not self._exchanger.answers.empty():
            answer = self._exchanger.answers.get()
            self._is_under_way = False
            if isinstance(answer, Adopted):
                self._take_adoption(answer, crew, now=now)
            else:
                granted += self._take_answer(answer, crew, now=now)
        return granted

    def _take_answer(
        self, answered: Answered, crew: Iterable[WorkerProcess], *, now: float
    ) -> tuple[Lease, ...]:
        answer, exchange = answered.answer, answered.asked.exchange
        if answer.status is ExchangeStatus.MISSING:
            self._outbox.put_back(replace(exchange, wants=()))
            self._note_waiting(now)
            self._misses += 1
            is_early = self._misses <= FIRST_MISSES
            self._send_after = now + (MISSING_SECONDS if is_early else LONG_MISSING_SECONDS)
            return ()
        self._misses = 0
        match answer.status:
            case ExchangeStatus.OK | ExchangeStatus.BEHIND:
                self._note_grants(answer, wanted=len(exchange.wants), now=now)
                return answer.granted
            case ExchangeStatus.EPOCH:
                self._meet_new_queue(answer.epoch, crew)
            case ExchangeStatus.REVOKED:
                self.closed = "revoked"
                self._outbox.forget_leases()
            case ExchangeStatus.CLOSED:
                self.closed = answer.closed
            case _:
                raise AssertionError(answer.status)
        return ()

    def _note_grants(self, answer: ExchangeAnswer, *, wanted: int, now: float) -> None:
        if len(answer.granted) >= wanted:
            return
        is_behind = answer.status is ExchangeStatus.BEHIND
        self._quiet_until = now + (BEHIND_SECONDS if is_behind else HUNGRY_SECONDS)

    def _meet_new_queue(self, epoch: str, crew: Iterable[WorkerProcess]) -> None:
        """The queue was made anew: tell it what is held. Leases and ranges of the
        old one mean nothing there; it puts back what nobody holds."""
        held = [HeldBy(one.number, lease) for one in crew for lease in one.held]
        self._epoch = epoch
        self._outbox.forget_leases()
        if not held:
            return
        logger.warning("the queue was made anew, %d leases are held", len(held))
        self._is_under_way = True
        self._exchanger.adopt(held, epoch)
        for one in held:
            one.lease.queue_id = 0

    def _take_adoption(
        self, adopted: Adopted, crew: Iterable[WorkerProcess], *, now: float
    ) -> None:
        if not adopted.queue_ids:
            return
        still_held = {id(lease) for one in crew for lease in one.held}
        for one, queue_id in zip(adopted.held, adopted.queue_ids, strict=True):
            one.lease.queue_id = queue_id
            if id(one.lease) not in still_held:
                self._outbox.add_ended(queue_id)
                self._note_waiting(now)

    # -- inner -------------------------------------------------------------------

    def _note_waiting(self, due: float) -> None:
        self._outbox_due = min(self._outbox_due, due)

    def _keep(self, report: bytes) -> None:
        if self.is_journal_broken:
            return
        try:
            self._journal.append([report])
        except OSError:
            self.is_journal_broken = True
            logger.exception("the journal cannot be written")


def is_able(process: WorkerProcess) -> bool:
    """The process takes leases: past init() and not on its way out."""
    return process.is_ready and not process.is_asked_to_end and process.expiry is None


def find_wants(processes: Iterable[WorkerProcess]) -> list[tuple[int, int]]:
    """Return process and count for every lease that a process lacks, those of
    processes that have nothing to do first."""
    wants: list[tuple[int, int, int]] = []
    for process in processes:
        if is_able(process):
            lacking = range(len(process.held), process.pace.outstanding())
            wants += [(held, process.number, process.pace.next_count()) for held in lacking]
    return [(number, count) for _, number, count in sorted(wants)]
