"""What stands in Redis: beats and what processes do now. It may be gone at any moment.

Every function answers with nothing when Redis is away; pages render without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache

import redis
from django.conf import settings

from runner.core.messages import LiveNode, MalformedMessage, StampedBeat
from runner.core.redis_keys import NODES, JobKeys, node_beat

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 1.0  # a page waits no longer for a Redis that hangs


@lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
    )


def redis_client() -> redis.Redis:
    return _client(settings.PRSWEB_REDIS_URL)


def is_redis_up() -> bool:
    try:
        return bool(redis_client().ping())
    except redis.RedisError:
        return False


def node_beats(names: Iterable[str] | None = None) -> tuple[dict[str, StampedBeat], float]:
    """Return the last beat of each node by name, and the server's time beside which
    their ages count. Without Redis: none, and 0.0."""
    client = redis_client()
    try:
        if names is None:
            members = client.smembers(NODES)
            names = sorted(name.decode() for name in members if isinstance(name, bytes))
        names = list(names)
        seconds, microseconds = client.time()
        values = client.mget([node_beat(name) for name in names]) if names else []
    except redis.RedisError as error:
        logger.warning("no beats read, Redis is away: %s", error)
        return {}, 0.0
    beats = {}
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, bytes):
            continue
        try:
            beats[name] = StampedBeat.parse(value)
        except MalformedMessage as error:
            logger.warning("node %s: %s", name, error)
    return beats, seconds + microseconds / 1e6


def live_nodes(job_id: str, node_names: Iterable[str]) -> dict[str, LiveNode]:
    """Return what the processes of each node do now, by node name."""
    names = list(dict.fromkeys(node_names))
    if not names:
        return {}
    keys = JobKeys(job_id)
    try:
        values = redis_client().mget([keys.live(name) for name in names])
    except redis.RedisError as error:
        logger.warning("job %s: no live processes read, Redis is away: %s", job_id, error)
        return {}
    found = {}
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, bytes):
            continue
        try:
            found[name] = LiveNode.from_json(value)
        except MalformedMessage as error:
            logger.warning("job %s node %s: %s", job_id, name, error)
    return found
