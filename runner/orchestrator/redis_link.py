"""Connections to Redis as an orchestrator needs them."""

from __future__ import annotations

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

ANSWER_SECONDS = 5.0  # a server that says nothing for so long counts as away
CONNECT_SECONDS = 2.0


def connect() -> redis.Redis:
    """Return a client that never repeats a command by itself: whoever sent it
    knows whether that would do harm."""
    return redis.Redis.from_url(
        settings.PRSWEB_REDIS_URL,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
