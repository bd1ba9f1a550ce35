"""Exchanges with a job's queue in Redis, in a thread of their own.

One is under way at a time. Redis may be away or hang: then the thread waits
and tries again, while the agent's loop goes on watching its processes.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import redis

from runner.core.leases import (
    ADOPT_SCRIPT,
    EXCHANGE_SCRIPT,
    Exchange,
    ExchangeAnswer,
    ExchangeStatus,
    Lease,
    parse_exchange_answer,
)
from runner.core.redis_keys import JobKeys
from runner.node.held_leases import HeldLease
from runner.node.redis_link import LINK_ERRORS

logger = logging.getLogger(__name__)

FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 1.0
LIVE_EXPIRES_SECONDS = 15

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """An exchange, with what is needed to find out later whether it happened."""

    exchange: Exchange
    epoch: str
    held_ids: frozenset[int]  # of the assignment's leases when it was asked


@dataclass(frozen=True)
class Answered:
    asked: Asked
    answer: ExchangeAnswer


@dataclass(frozen=True)
class HeldBy:
    """A lease that a process still holds, to be told to a new queue."""

    process: int
    lease: HeldLease


@dataclass(frozen=True)
class Adopted:
    """The queue has been told: new ids in the order asked, empty when it would not."""

    held: tuple[HeldBy, ...]
    epoch: str
    queue_ids: tuple[int, ...]


class Exchanger(threading.Thread):
    """``on_answer`` is called in this thread when something stands in ``answers``."""

    def __init__(
        self,
        link: redis.Redis,
        keys: JobKeys,
        assignment: int,
        *,
        live_key: str,
        on_answer: Callable[[], None],
    ) -> None:
        super().__init__(name="exchanger", daemon=True)
        self.answers: queue.SimpleQueue[Answered | Adopted] = queue.SimpleQueue()
        self.is_away = False  # Redis did not answer the last time
        self._link = link
        self._keys = keys
        self._assignment = assignment
        self._live_key = live_key
        self._on_answer = on_answer
        self._requests: queue.SimpleQueue[Callable[[], Answered | Adopted | None]]
        self._requests = queue.SimpleQueue()
        self._closing = threading.Event()
        self._exchange = link.register_script(EXCHANGE_SCRIPT)
        self._adopt = link.register_script(ADOPT_SCRIPT)

    def send(self, asked: Asked) -> None:
        self._requests.put(lambda: self._answer_exchange(asked))

    def adopt(self, held: Sequence[HeldBy], epoch: str) -> None:
        self._requests.put(lambda: self._answer_adoption(tuple(held), epoch))

    def publish_live(self, value: bytes) -> None:
        """Set the node's live value; lost without a word while Redis is away."""
        self._requests.put(lambda: self._set_live(value))

    def close(self) -> None:
        """End the thread; what is under way is given up."""
        self._closing.set()
        self._requests.put(lambda: None)

    def run(self) -> None:
        while not self._closing.is_set():
            answer = self._requests.get()()
            if answer is not None:
                self.answers.put(answer)
                self._on_answer()

    def _answer_exchange(self, asked: Asked) -> Answered | None:
        is_in_doubt = False

        def attempt() -> ExchangeAnswer:
            nonlocal is_in_doubt
            if is_in_doubt:
                known = self._find_answer(asked)
                if known is not None:
                    return known
            is_in_doubt = True
            return self._evaluate(asked)

        answer = self._until_answered(attempt)
        return None if answer is None else Answered(asked, answer)

    def _evaluate(self, asked: Asked) -> ExchangeAnswer:
        keys = self._keys
        raw = self._exchange(
            keys=[keys.queue, keys.back, keys.leases, keys.revoked, keys.reports, keys.wake],
            args=asked.exchange.arguments(epoch=asked.epoch, assignment=self._assignment),
        )
        return parse_exchange_answer(raw, assignment=self._assignment)

    def _find_answer(self, asked: Asked) -> ExchangeAnswer | None:
        """Return what the lost answer must have said, or None to send again.

        The script happens whole or not at all. It did when a lease that it ends
        is gone, or one stands there that we never heard of: that one was granted.
        Reports alone may be sent again, recording them twice changes nothing.
        """
        pipeline = self._link.pipeline(transaction=True)
        pipeline.hget(self._keys.queue, "epoch")
        pipeline.hgetall(self._keys.leases)
        epoch, values = pipeline.execute()
        if epoch is None or epoch.decode() != asked.epoch:
            return None
        leases = [Lease.parse(f"{int(key)} {text.decode()}") for key, text in values.items()]
        ours = {one.lease_id: one for one in leases if one.assignment == self._assignment}
        granted = tuple(ours[one] for one in sorted(ours) if one not in asked.held_ids)
        given_back = (one for one, _ in asked.exchange.given_back if one)
        is_over = any(one not in ours for one in (*asked.exchange.ended, *given_back))
        if granted or is_over:
            return ExchangeAnswer(ExchangeStatus.OK, asked.epoch, granted)
        return None

    def _answer_adoption(self, held: tuple[HeldBy, ...], epoch: str) -> Adopted | None:
        told = [f"{one.lease.queue_id} {one.process} {one.lease.range}" for one in held]

        def attempt() -> tuple[int, ...]:
            keys = [self._keys.queue, self._keys.leases]
            answer = self._adopt(keys=keys, args=[epoch, self._assignment, *told])
            return tuple(int(one) for one in answer)

        ids = self._until_answered(attempt)
        return None if ids is None else Adopted(held, epoch, ids)

    def _set_live(self, value: bytes) -> None:
        with suppress(redis.RedisError):
            self._link.set(self._live_key, value, ex=LIVE_EXPIRES_SECONDS)

    def _until_answered(self, attempt: Callable[[], T]) -> T | None:
        """Return what ``attempt`` gives, trying for ever; None once closed."""
        wait_seconds = FIRST_WAIT_SECONDS
        while not self._closing.is_set():
            try:
                answer = attempt()
            except redis.RedisError as error:
                self._note_away(error)
            else:
                self._note_back()
                return answer
            self._closing.wait(wait_seconds)
            wait_seconds = min(2 * wait_seconds, LONGEST_WAIT_SECONDS)
        return None

    def _note_away(self, error: redis.RedisError) -> None:
        if self.is_away:
            return
        self.is_away = True
        if isinstance(error, LINK_ERRORS):
            logger.warning("assignment %d: Redis is away: %s", self._assignment, error)
        else:
            logger.exception("assignment %d: Redis refused an exchange", self._assignment)

    def _note_back(self) -> None:
        if self.is_away:
            logger.info("assignment %d: Redis is back", self._assignment)
        self.is_away = False
