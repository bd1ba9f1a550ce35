"""Notice nodes that have left a job without a word."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import redis

from runner.core.states import LOST_SECONDS, JobNodeState
from runner.orchestrator.beats import BeatAge, BeatReader
from runner.orchestrator.participants import Part

logger = logging.getLogger(__name__)

ASTRAY_SECONDS = 15.0  # beats, but says nothing of its assignment
NEVER_BEGUN_SECONDS = 120.0


@dataclass(frozen=True)
class Lost:
    part: Part
    reason: str


class NodeWatch:
    def __init__(self, client: redis.Redis, job_id: str) -> None:
        self._reader = BeatReader(client)
        self._job_id = job_id

    def find_lost(self, parts: list[Part], now: float) -> list[Lost]:
        """Return the parts whose node is gone, was started anew, or has dropped its
        assignment. Raises redis.RedisError while Redis is away."""
        if not parts:
            return []
        ages = self._reader.read({part.name for part in parts})
        found = []
        for part in parts:
            reason = self._judge(part, ages.get(part.name), now)
            if reason:
                found.append(Lost(part, reason))
        return found

    def _judge(self, part: Part, age: BeatAge | None, now: float) -> str:
        if age is None:
            return self._astray(part, now, "it does not beat")
        if age.beat.boot_id != part.job_node.boot_id:
            return "its Celery worker was started anew"
        if age.age_seconds >= LOST_SECONDS:
            return f"no beat for {age.age_seconds:.0f} s"
        if (age.beat.job_id, age.beat.assignment) == (self._job_id, part.number):
            part.astray_since = None
            return ""
        return self._astray(part, now, "it has dropped its assignment")

    def _astray(self, part: Part, now: float, reason: str) -> str:
        """A node may be about to begin, or about to tell its end."""
        if part.astray_since is None:
            part.astray_since = now
        has_begun = part.has_joined or part.job_node.state == JobNodeState.RUNNING
        limit = ASTRAY_SECONDS if has_begun else NEVER_BEGUN_SECONDS
        return reason if now - part.astray_since >= limit else ""
