"""How long ago each node has beaten, in the one clock of the Redis server."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

import redis

from runner.core.messages import MalformedMessage, NodeBeat, StampedBeat
from runner.core.redis_keys import NODES, node_beat

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BeatAge:
    beat: NodeBeat
    at: float  # seconds since 1970, server's clock
    age_seconds: float


@dataclass
class BeatReader:
    """Reads beats, and remembers them: a wiped Redis makes no node look lost.

    After a restart of the server its data may be old while no node could beat,
    so no age is more than the time for which the server has been up.
    """

    client: redis.Redis

    def __post_init__(self) -> None:
        self._remembered: dict[str, StampedBeat] = {}

    def read(self, names: Iterable[str] | None = None) -> dict[str, BeatAge]:
        """Return the newest beat of each node; of all that ever beat without ``names``.

        Raises redis.RedisError while Redis is away: then nothing is known.
        """
        if names is None:
            members = self.client.smembers(NODES)
            names = {member.decode() for member in members} | set(self._remembered)
        wanted = sorted(names)
        pipeline = self.client.pipeline(transaction=False)
        pipeline.time()
        pipeline.info("server")
        if wanted:
            pipeline.mget([node_beat(name) for name in wanted])
        (seconds, microseconds), server, *values = pipeline.execute()
        now, up_seconds = seconds + microseconds / 1e6, float(server["uptime_in_seconds"])
        for name, value in zip(wanted, values[0] if values else [], strict=True):
            self._remember(name, value)
        return {
            name: BeatAge(stamped.beat, stamped.at, min(max(0.0, now - stamped.at), up_seconds))
            for name in wanted
            if (stamped := self._remembered.get(name)) is not None
        }

    def _remember(self, name: str, value: bytes | None) -> None:
        if value is None:
            return
        try:
            stamped = StampedBeat.parse(value)
        except MalformedMessage as malformed:
            logger.warning("beat of node %s dropped: %s", name, malformed)
            return
        known = self._remembered.get(name)
        if known is None or stamped.at > known.at or stamped.beat != known.beat:
            self._remembered[name] = stamped
