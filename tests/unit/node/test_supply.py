"""When to exchange, and what an answer means. The way to Redis is played."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field

import pytest

from runner.core.leases import ExchangeAnswer, ExchangeStatus, Lease, Range
from runner.node.exchanger import Adopted, Answered, Asked, HeldBy
from runner.node.held_leases import HeldLease
from runner.node.journal import Journal
from runner.node.lease_sizing import LeasePace
from runner.node.supply import HUNGRY_SECONDS, MISSING_SECONDS, Supply


class PlayedExchanger:
    """Keeps what is asked; the test says what is answered."""

    def __init__(self) -> None:
        self.answers: queue.SimpleQueue = queue.SimpleQueue()
        self.asked: list[Asked] = []
        self.adopting: list[tuple[list[HeldBy], str]] = []

    def send(self, asked: Asked) -> None:
        self.asked.append(asked)

    def adopt(self, held: list[HeldBy], epoch: str) -> None:
        self.adopting.append((held, epoch))

    def answer(self, status: ExchangeStatus, *granted: Lease, epoch="e1", closed="") -> None:
        answer = ExchangeAnswer(status, epoch, granted, closed)
        self.answers.put(Answered(self.asked[-1], answer))


@dataclass
class Process:
    """What of a worker process the supply looks at."""

    number: int = 0
    held: list[HeldLease] = field(default_factory=list)
    pace: LeasePace = field(default_factory=LeasePace)
    is_ready: bool = True
    is_asked_to_end: bool = False
    expiry: object = None


@pytest.fixture
def exchanger():
    return PlayedExchanger()


@pytest.fixture
def supply(exchanger, tmp_path):
    journal = Journal(tmp_path / "n1-1.journal")
    yield Supply(exchanger, journal)
    journal.close()


def lease(queue_id: int, first: int = 0, count: int = 1) -> HeldLease:
    return HeldLease(queue_id, queue_id, Range(first, count, 1), granted_at=0.0)


def test_a_process_without_work_is_asked_for_at_once(supply, exchanger):
    supply.exchange_if_due([Process()], now=1.0)

    assert exchanger.asked[0].exchange.wants == ((0, 1),)


def test_one_exchange_is_under_way_at_a_time(supply, exchanger):
    supply.exchange_if_due([Process()], now=1.0)
    supply.exchange_if_due([Process()], now=9.0)

    assert len(exchanger.asked) == 1


def test_a_question_without_an_answer_is_repeated_later_or_when_it_rings(supply, exchanger):
    crew = [Process()]
    supply.exchange_if_due(crew, now=1.0)
    exchanger.answer(ExchangeStatus.OK)
    supply.take_answers(crew, now=1.0)

    supply.exchange_if_due(crew, now=1.0 + HUNGRY_SECONDS / 2)
    assert len(exchanger.asked) == 1
    supply.ring()
    supply.exchange_if_due(crew, now=1.0 + HUNGRY_SECONDS / 2)
    assert len(exchanger.asked) == 2


def test_reports_of_working_processes_are_gathered_for_a_moment(supply, exchanger):
    crew = [Process(held=[lease(1)])]
    supply.exchange_if_due(crew, now=1.0)  # the first look of all
    exchanger.answer(ExchangeStatus.OK)
    supply.take_answers(crew, now=1.0)

    supply.report_bytes(b"block", now=1.0)
    supply.exchange_if_due(crew, now=1.001)
    assert len(exchanger.asked) == 1
    supply.exchange_if_due(crew, now=1.1)

    assert exchanger.asked[1].exchange.reports == (b"block",)
    assert supply.is_idle is False


def test_while_the_queue_is_missing_nothing_is_lost(supply, exchanger):
    crew = [Process(held=[lease(1)])]
    supply.report_bytes(b"one", now=1.0)
    supply.exchange_if_due(crew, now=2.0)
    exchanger.answer(ExchangeStatus.MISSING)
    supply.report_bytes(b"two", now=2.0)

    supply.take_answers(crew, now=2.0)
    supply.exchange_if_due(crew, now=2.0 + MISSING_SECONDS / 2)
    assert len(exchanger.asked) == 1
    supply.exchange_if_due(crew, now=3.0)

    assert exchanger.asked[1].exchange.reports == (b"one", b"two")


def test_a_new_queue_is_told_what_is_held_and_nothing_of_the_old_one(supply, exchanger):
    held = lease(7, first=10, count=5)
    crew = [Process(held=[held])]
    supply.end_lease(HeldLease(6, 6, Range(0, 1, 1), 0.0, reported=1), now=1.0)
    supply.exchange_if_due(crew, now=2.0)
    exchanger.answer(ExchangeStatus.EPOCH, epoch="e2")

    supply.take_answers(crew, now=2.0)

    assert exchanger.adopting == [([HeldBy(0, held)], "e2")]
    assert held.queue_id == 0  # until the new queue has said its number
    exchanger.answers.put(Adopted((HeldBy(0, held),), "e2", (31,)))
    supply.take_answers(crew, now=2.1)
    assert held.queue_id == 31
    supply.report_bytes(b"block", now=2.2)
    supply.exchange_if_due(crew, now=3.0)
    assert exchanger.asked[-1].epoch == "e2"
    assert exchanger.asked[-1].exchange.ended == ()


def test_a_lease_that_ended_while_it_was_adopted_is_ended_by_its_new_number(supply, exchanger):
    held = lease(7)
    process = Process(held=[held])
    supply.exchange_if_due([process], now=1.0)
    exchanger.answer(ExchangeStatus.EPOCH, epoch="e2")
    supply.take_answers([process], now=1.0)

    process.held.remove(held)
    held.reported = 1
    supply.end_lease(held, now=1.1)
    exchanger.answers.put(Adopted((HeldBy(0, held),), "e2", (31,)))
    supply.take_answers([process], now=1.2)
    supply.exchange_if_due([process], now=3.0)

    assert exchanger.asked[-1].exchange.ended == (31,)


@pytest.mark.parametrize(
    ("status", "closed", "expected"),
    [
        (ExchangeStatus.CLOSED, "end", "end"),
        (ExchangeStatus.CLOSED, "stop", "stop"),
        (ExchangeStatus.REVOKED, "", "revoked"),
    ],
)
def test_a_closed_queue_is_asked_for_nothing_more(supply, exchanger, status, closed, expected):
    crew = [Process()]
    supply.exchange_if_due(crew, now=1.0)
    exchanger.answer(status, closed=closed)
    supply.take_answers(crew, now=1.0)

    assert supply.closed == expected
    supply.report_bytes(b"last", now=2.0)
    supply.exchange_if_due(crew, now=2.0)
    assert exchanger.asked[-1].exchange.wants == ()
    assert exchanger.asked[-1].exchange.reports == (b"last",)


def test_what_is_asked_names_every_lease_that_the_queue_may_know(supply, exchanger):
    ended = HeldLease(3, 3, Range(0, 1, 1), 0.0, reported=1)
    unfinished = HeldLease(4, 4, Range(1, 2, 1), 0.0)
    supply.end_lease(ended, now=1.0)
    supply.end_lease(unfinished, now=1.0)

    supply.exchange_if_due([Process(held=[lease(9)])], now=2.0)

    asked = exchanger.asked[0]
    assert asked.held_ids == {3, 4, 9}
    assert asked.exchange.ended == (3,)
    assert asked.exchange.given_back == ((4, Range(1, 2, 1)),)
