"""Small facts for pages: one stream a job, one for all. Never the truth, so a
Redis that is away costs a page some seconds and nothing else."""

from __future__ import annotations

import logging

import redis

from runner.core.redis_keys import ALL_EVENTS, STREAM_LENGTH, JobKeys

logger = logging.getLogger(__name__)


class Events:
    """A fact is ``kind`` (progress, state, mini_batches, errors, nodes, processes,
    samples, log, node) and ``job``, its id; a fact about a node has ``node``."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def publish(self, job_id: str, *kinds: str) -> None:
        """Say that these parts of a job have changed."""
        pipeline = self._client.pipeline(transaction=False)
        for kind in kinds:
            fact = {"kind": kind, "job": job_id}
            for stream in (JobKeys(job_id).events, ALL_EVENTS):
                pipeline.xadd(stream, fact, maxlen=STREAM_LENGTH, approximate=True)
        self._send(pipeline)

    def publish_node(self, name: str) -> None:
        pipeline = self._client.pipeline(transaction=False)
        fact = {"kind": "node", "node": name}
        pipeline.xadd(ALL_EVENTS, fact, maxlen=STREAM_LENGTH, approximate=True)
        self._send(pipeline)

    def _send(self, pipeline: redis.client.Pipeline) -> None:
        try:
            pipeline.execute()
        except redis.RedisError as error:
            logger.debug("facts not published, Redis is away: %s", error)
