"""Where a page stands in a stream of facts.

A page carries the position (``EPOCH.ID``) at which it was rendered; its stream
starts there, so nothing between is missed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import redis
import redis.asyncio

from prsweb.jobs.selectors.live import redis_client
from runner.core.redis_keys import EVENTS_EPOCH, STREAM_LENGTH


@dataclass(frozen=True)
class Position:
    epoch: str
    entry: str  # id of the last entry seen

    def __str__(self) -> str:
        return f"{self.epoch}.{self.entry}"

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """Return the position that ``text`` names, None for any other text."""
        epoch, _, entry = text.partition(".")
        return cls(epoch, entry) if epoch and _numbers(entry) else None


def current_position(stream_key: str) -> str:
    """Return the position at which a page is rendered now; "" without Redis."""
    client = redis_client()
    try:
        client.set(EVENTS_EPOCH, _new_epoch(), nx=True)
        epoch = client.get(EVENTS_EPOCH)
        newest = client.xrevrange(stream_key, count=1)
    except redis.RedisError:
        return ""
    return str(Position(_text(epoch), _newest_entry(newest)))


async def checked_position(
    client: redis.asyncio.Redis, stream_key: str, position: Position | None
) -> tuple[Position, bool]:
    """Return a position that the stream can go on from, and whether facts were lost:
    Redis was wiped, or keeps too little to go on from ``position``.

    Raises RedisError.
    """
    pipeline = client.pipeline(transaction=False)
    pipeline.set(EVENTS_EPOCH, _new_epoch(), nx=True)
    pipeline.get(EVENTS_EPOCH)
    pipeline.xlen(stream_key)
    pipeline.xrange(stream_key, count=1)
    _, epoch, length, oldest = await pipeline.execute()
    if position is not None and position.epoch == _text(epoch):
        begin = _numbers(_text(oldest[0][0])) if length >= STREAM_LENGTH else None
        asked = _numbers(position.entry)
        if begin is None or (asked is not None and begin <= asked):
            return position, False
    newest = await client.xrevrange(stream_key, count=1)
    return Position(_text(epoch), _newest_entry(newest)), True


def _new_epoch() -> str:
    return uuid.uuid4().hex[:12]


def _newest_entry(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> str:
    return _text(entries[0][0]) if entries else "0-0"


def _numbers(entry: str) -> tuple[int, int] | None:
    """Return the two numbers of an entry's id, None for any other text."""
    first, _, second = entry.partition("-")
    is_id = first.isdecimal() and second.isdecimal() and len(entry) < 40
    return (int(first), int(second)) if is_id else None


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else ""
