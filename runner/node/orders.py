"""Orders of the master role: a list in Redis, listened to by a thread."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

import redis

from runner.core.messages import MalformedMessage, Order
from runner.node.redis_link import connect

logger = logging.getLogger(__name__)

LISTEN_SECONDS = 2
AWAY_SECONDS = 0.5


class OrderListener(threading.Thread):
    """``on_order`` is called in this thread when something stands in ``orders``."""

    def __init__(self, redis_url: str, key: str, *, on_order: Callable[[], None]) -> None:
        super().__init__(name="orders", daemon=True)
        self.orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        # The client must wait longer than the server does.
        self._link = connect(redis_url, answer_seconds=LISTEN_SECONDS + 5.0)
        self._key = key
        self._on_order = on_order
        self._closing = threading.Event()
        self.is_over = threading.Event()  # an order to end or to stop has come

    def run(self) -> None:
        while not self._closing.is_set():
            try:
                found = self._link.blpop([self._key], timeout=LISTEN_SECONDS)
            except redis.RedisError:
                self._closing.wait(AWAY_SECONDS)
                continue
            if found is not None and not self._closing.is_set():
                self._take(found[1])

    def close(self) -> None:
        """End the thread, at the latest when its present wait is over."""
        self._closing.set()

    def _take(self, line: bytes | str) -> None:
        try:
            order = Order.from_json(line)
        except MalformedMessage as malformed:
            logger.warning("order dropped: %s", malformed)
            return
        if order.action in ("end", "stop"):
            self.is_over.set()
        self.orders.put(order)
        self._on_order()
