"""Connections to Redis as a node needs them."""

from __future__ import annotations

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

ANSWER_SECONDS = 5.0  # a server that says nothing for so long counts as away
CONNECT_SECONDS = 2.0

# What is worth another attempt: the server is away, hangs or loads its data.
LINK_ERRORS = (redis.ConnectionError, redis.TimeoutError)


def connect(url: str, *, answer_seconds: float = ANSWER_SECONDS) -> redis.Redis:
    """Return a client that never repeats a command by itself.

    A lease script that was sent twice would lease twice; whoever sends it finds
    out what happened before it sends again.
    """
    return redis.Redis.from_url(
        url,
        socket_timeout=answer_seconds,
        socket_connect_timeout=CONNECT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
