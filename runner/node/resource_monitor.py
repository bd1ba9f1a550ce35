"""Samples for the charts, and the perf files, in a thread of their own."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping

import psutil

from runner.node.performance_files import PerformanceFiles
from runner.node.resource_samples import ResourceReader, Row

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 10.0
EARLY_SECONDS = 5.0  # a sample every second, so that a short job has a chart too


class ResourceMonitor(threading.Thread):
    """``on_sample`` is called in this thread when something stands in ``samples``."""

    def __init__(
        self,
        *,
        sample_seconds: float,
        file_seconds: float,
        files: PerformanceFiles,
        on_sample: Callable[[], None],
    ) -> None:
        super().__init__(name="resource monitor", daemon=True)
        self.samples: queue.SimpleQueue[tuple[Row, ...]] = queue.SimpleQueue()
        self.rss_bytes: Mapping[int, int] = {}  # by process number, as last sampled
        self.memory_percent: float | None = None  # of the node, as last sampled
        self._sample_seconds = sample_seconds
        self._file_seconds = file_seconds  # 0: no files
        self._files = files
        self._on_sample = on_sample
        self._processes: Mapping[int, int] = {}
        self._gpus: Mapping[int, int | None] = {}
        self._closing = threading.Event()
        self._reader = ResourceReader()

    def watch(self, processes: Mapping[int, int], gpus: Mapping[int, int | None]) -> None:
        """Sample these processes (number -> pid) from now on."""
        self._processes, self._gpus = processes, gpus

    def run(self) -> None:
        started_at = file_at = sample_at = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= sample_at:
                self._sample(now)
                is_early = now - started_at < EARLY_SECONDS
                sample_at = now + (
                    min(1.0, self._sample_seconds) if is_early else self._sample_seconds
                )
            if self._file_seconds and now >= file_at:
                self._files.write(self._processes, self._gpus)
                file_at = now + self._file_seconds
            due = min(sample_at, file_at) if self._file_seconds else sample_at
            if self._closing.wait(max(0.0, due - time.monotonic())):
                break
        if self._file_seconds:
            self._files.write(self._processes, self._gpus)

    def finish(self) -> None:
        """Ask for the last entry of the files, and the end; does not wait."""
        self._closing.set()

    def close(self) -> None:
        """End, and wait for it: after this nothing is started here any more."""
        self._closing.set()
        if self.is_alive():
            self.join(timeout=CLOSE_SECONDS)

    def _sample(self, now: float) -> None:
        try:
            reading = self._reader.read(self._processes, now=now)
        except (OSError, psutil.Error):
            logger.exception("no sample could be taken")
            return
        self.rss_bytes = reading.rss_bytes
        self.memory_percent = reading.memory_percent
        self.samples.put(reading.rows)
        self._on_sample()
