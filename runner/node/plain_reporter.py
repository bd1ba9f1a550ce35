"""Reports of a multi-node or plain job: few, and there is no queue to lease from.

The journal is what counts: whoever leads the job reads it now and then. Redis
only makes it quick.
"""

from __future__ import annotations

import logging
import queue
import threading

import redis

from runner.core.messages import Report, SamplesTaken
from runner.core.redis_keys import JobKeys
from runner.node.journal import Journal

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
CLOSE_SECONDS = 5.0


class PlainReporter(threading.Thread):
    def __init__(self, link: redis.Redis, keys: JobKeys, journal: Journal) -> None:
        super().__init__(name="reporter", daemon=True)
        self._link = link
        self._keys = keys
        self._journal = journal
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)

    def send(self, report: Report) -> None:
        """Journal the report and let it follow to Redis."""
        content = report.to_json()
        if not isinstance(report, SamplesTaken):
            try:
                self._journal.append([content])
            except OSError:
                logger.exception("the journal cannot be written")
        try:
            self._waiting.put_nowait(content)
        except queue.Full:
            logger.warning("Redis has been away for long: a report stands in the journal only")

    def run(self) -> None:
        while (report := self._waiting.get()) is not None:
            try:
                pipeline = self._link.pipeline(transaction=False)
                pipeline.rpush(self._keys.reports, report)
                pipeline.lpush(self._keys.wake, "1")
                pipeline.ltrim(self._keys.wake, 0, 0)
                pipeline.execute()
            except redis.RedisError as error:
                logger.warning("a report stands in the journal only: %s", error)

    def close(self) -> None:
        """Send what waits, and end."""
        try:
            self._waiting.put(None, timeout=CLOSE_SECONDS)
        except queue.Full:
            return
        self.join(CLOSE_SECONDS)
