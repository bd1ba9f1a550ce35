"""What waits to be told to the master role, between two exchanges. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from runner.core.leases import Exchange, Range
from runner.node.held_leases import Settlement


class Outbox:
    """Reports in order, leases that ended, ranges that go back."""

    def __init__(self) -> None:
        self._reports: list[bytes] = []
        self._ended: list[int] = []
        self._given_back: list[tuple[int, Range]] = []

    def __bool__(self) -> bool:
        return bool(self._reports or self._ended or self._given_back)

    def add_report(self, report: bytes) -> None:
        self._reports.append(report)

    def add_ended(self, lease_id: int) -> None:
        """``lease_id`` 0, a lease that the queue has forgotten, needs no word."""
        if lease_id:
            self._ended.append(lease_id)

    def add_settlement(self, settlement: Settlement) -> None:
        self._ended += settlement.ended
        self._given_back += settlement.given_back

    def take(self, wants: Sequence[tuple[int, int]] = ()) -> Exchange:
        """Return everything that waits as one exchange, and wait for more."""
        exchange = Exchange(
            tuple(self._reports), tuple(self._ended), tuple(self._given_back), tuple(wants)
        )
        self._reports, self._ended, self._given_back = [], [], []
        return exchange

    def put_back(self, exchange: Exchange) -> None:
        """Take again what an exchange could not hand over, before what came since."""
        self._reports[:0] = exchange.reports
        self._ended[:0] = exchange.ended
        self._given_back[:0] = exchange.given_back

    def forget_leases(self) -> None:
        """Drop what concerns leases of a queue that is no more."""
        self._ended, self._given_back = [], []
