"""The node's sign of life."""

from __future__ import annotations

import logging
import socket
import threading

import psutil
import redis

from runner.core import redis_keys
from runner.core.leases import BEAT_SCRIPT
from runner.core.messages import NodeBeat
from runner.node.redis_link import connect
from runner.node.this_node import ThisNode

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0


class Beater(threading.Thread):
    """Beats every second, as long as the process lives, Redis there or not."""

    def __init__(self, node: ThisNode, version: str) -> None:
        super().__init__(name="beats", daemon=True)
        self._node = node
        self._version = version
        self._host = socket.gethostname()
        self._ended = threading.Event()
        self._is_away = False

    def run(self) -> None:
        # A beat that waits longer than a few seconds is worth nothing.
        link = connect(self._node.settings.redis_url, answer_seconds=2.0)
        while True:
            self._beat(link)
            if self._ended.wait(BEAT_SECONDS):
                return

    def end(self) -> None:
        self._ended.set()

    def _beat(self, link: redis.Redis) -> None:
        name = self._node.settings.name
        try:
            link.eval(
                BEAT_SCRIPT,
                2,
                redis_keys.node_beat(name),
                redis_keys.NODES,
                name,
                self._read().to_json(),
            )
        except redis.RedisError as error:
            if not self._is_away:
                logger.warning("node %s: no beat, Redis is away: %s", name, error)
            self._is_away = True
        else:
            if self._is_away:
                logger.info("node %s: Redis is back", name)
            self._is_away = False

    def _read(self) -> NodeBeat:
        settings, assignment = self._node.settings, self._node.assignment
        return NodeBeat(
            name=settings.name,
            boot_id=self._node.boot_id,
            address=settings.address,
            host=self._host,
            location=settings.location,
            environment=settings.environment,
            instance_type=settings.instance_type,
            vcpus=settings.vcpus,
            memory_mib=settings.memory_mib,
            gpus=settings.gpus,
            version=self._version,
            started_at=self._node.started_at,
            simulated=settings.simulated,
            assignment=assignment.number if assignment else None,
            job_id=assignment.job_id if assignment else None,
            cpu_percent=psutil.cpu_percent(interval=None),
            memory_percent=psutil.virtual_memory().percent,
        )
