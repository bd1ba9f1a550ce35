"""Server-sent events: what changed on a page, as fragments, at most twice a second."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import TypeVar

import redis
import redis.asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

from prsweb.dashboard.positions import Position, checked_position

AnswerT = TypeVar("AnswerT")
Fact = Mapping[str, str]  # kind, and job or node

COALESCE_SECONDS = 0.5  # at most two messages a second
PING_SECONDS = 10.0
TICK_SECONDS = 1.0  # for what changes with the clock
RIGHTS_SECONDS = 60.0  # how often a stream looks whether its viewer may still see
FACTS_READ = 1000
RECONNECT_MILLISECONDS = 1000


class Viewer(ABC):
    """Whose page it is, and what facts mean for it. Its methods run in a thread."""

    @abstractmethod
    def may_see(self) -> bool: ...

    @abstractmethod
    def render(self, facts: list[Fact], *, is_tick: bool, position: str) -> str:
        """Return partials for the page, "" when nothing on it changed.

        ``position``: where the stream stands, the facts included.
        """

    def is_over(self) -> bool:
        """Whether nothing on the page will change any more."""
        return False


async def follow(
    key: str,
    asked: Position | None,
    viewer: Viewer,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[bytes, None]:
    """Yield messages until the viewer goes, may see no more, or all is over.

    A Redis that is away costs no error: what ticks goes on from the database.
    """
    client = redis.asyncio.Redis.from_url(settings.PRSWEB_REDIS_URL)
    try:
        stream = EventStream(client, key, asked, viewer, clock)
        async with aclosing(stream.messages()) as messages:
            async for message in messages:
                yield message
    finally:
        with suppress(redis.RedisError):
            await client.aclose()


class EventStream:
    """One page's stream: reads facts, renders what they touch, says when all is well."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        key: str,
        asked: Position | None,
        viewer: Viewer,
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._key = key
        self._position = asked
        self._viewer = viewer
        self._clock = clock
        self._is_lost = False

    async def messages(self) -> AsyncGenerator[bytes, None]:
        yield message_of("ping", "{}", retry_milliseconds=RECONNECT_MILLISECONDS)
        spoke_at = rights_at = self._clock()
        ticked_at = 0.0
        while True:
            facts = await self._next_facts()
            if self._is_lost:
                self._is_lost = False
                yield message_of("resync", "{}", self._position)
            now = self._clock()
            is_tick = now - ticked_at >= TICK_SECONDS
            ticked_at = now if is_tick else ticked_at
            if facts or is_tick:
                position = str(self._position or "")
                html = await _with_database(
                    partial(self._viewer.render, facts, is_tick=is_tick, position=position)
                )
                if html:
                    spoke_at = now
                    yield message_of("", html, self._position)
            if self._viewer.is_over():
                yield message_of("job-ended", "{}", self._position)
                return
            if now - rights_at >= RIGHTS_SECONDS:
                rights_at = now
                if not await _with_database(self._viewer.may_see):
                    yield message_of("signed-out", "{}")
                    return
            if now - spoke_at >= PING_SECONDS:
                spoke_at = now
                yield message_of("ping", "{}")

    async def _next_facts(self) -> list[Fact]:
        """Wait for facts, then half a second more for those that follow at once;
        none after a second without any, or while Redis is away."""
        try:
            self._position, self._is_lost = await checked_position(
                self._client, self._key, self._position
            )
            if self._is_lost:
                return []
            if not await self._read(block_milliseconds=int(TICK_SECONDS * 1000)):
                return []
            await asyncio.sleep(COALESCE_SECONDS)
            entries = await self._read(block_milliseconds=None)
        except redis.RedisError:
            await asyncio.sleep(TICK_SECONDS)
            return []
        if entries:
            self._position = Position(self._position.epoch, entries[-1][0].decode())
        return [
            {name.decode(): value.decode("utf-8", "replace") for name, value in fields.items()}
            for _, fields in entries
        ]

    async def _read(
        self, *, block_milliseconds: int | None
    ) -> list[tuple[bytes, dict[bytes, bytes]]]:
        assert self._position is not None
        found = await self._client.xread(
            {self._key: self._position.entry}, count=FACTS_READ, block=block_milliseconds
        )
        return found[0][1] if found else []


async def _with_database(call: Callable[[], AnswerT]) -> AnswerT:
    """Run ``call`` in the stream's thread, and let its connection go: a stream stays
    for hours, and fifty of them would keep fifty connections with their caches."""

    def close_after() -> AnswerT:
        try:
            return call()
        finally:
            connections.close_all()

    return await sync_to_async(close_after)()


def message_of(
    event: str,
    data: str,
    position: Position | None = None,
    *,
    retry_milliseconds: int | None = None,
) -> bytes:
    """Return one message of the event stream; data may have several lines."""
    lines = [f"id: {position}"] if position else []
    if retry_milliseconds is not None:
        lines.append(f"retry: {retry_milliseconds}")
    if event:
        lines.append(f"event: {event}")
    # The three line ends of the format and no other: text may hold U+2028.
    text = data.replace("\r\n", "\n").replace("\r", "\n")
    lines += [f"data: {line}" for line in text.split("\n")]
    return ("\n".join(lines) + "\n\n").encode()
