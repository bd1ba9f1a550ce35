from __future__ import annotations

from runner.core.leases import Range
from runner.node.held_leases import Settlement
from runner.node.outbox import Outbox


def test_what_could_not_be_handed_over_goes_before_what_came_since():
    outbox = Outbox()
    outbox.add_report(b"first")
    outbox.add_ended(1)
    exchange = outbox.take([(0, 5)])
    outbox.add_report(b"second")
    outbox.add_settlement(Settlement(ended=[2], given_back=[(3, Range(7, 1, 1))]))

    outbox.put_back(exchange)
    again = outbox.take()

    assert again.reports == (b"first", b"second")
    assert again.ended == (1, 2)
    assert again.given_back == ((3, Range(7, 1, 1)),)
    assert again.wants == ()
    assert not outbox


def test_leases_of_a_queue_that_is_no_more_are_forgotten_and_reports_are_not():
    outbox = Outbox()
    outbox.add_report(b"block")
    outbox.add_ended(1)
    outbox.add_ended(0)  # forgotten already

    outbox.forget_leases()

    assert outbox.take().ended == ()
    outbox.add_report(b"block")
    assert outbox.take().reports == (b"block",)
