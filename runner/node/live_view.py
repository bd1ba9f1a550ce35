"""What the process strip of the job's page shows for this node."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from runner.core.messages import LiveNode, LiveProcess
from runner.core.wire_format import wire
from runner.node.worker_process import WorkerProcess

PUBLISH_SECONDS = 0.5
RENEW_SECONDS = 5.0  # the value expires, so an unchanged one is renewed


class LiveView:
    """Gives a value to publish about twice a second, and only when it changed."""

    def __init__(self, node_name: str, node_index: int) -> None:
        self._node_name = node_name
        self._node_index = node_index
        self._died: dict[int, LiveProcess] = {}  # shown until a replacement starts
        self._shown: tuple[object, ...] = ()
        self._published_at = 0.0  # monotonic
        self._looked_at = 0.0

    def note_death(self, process: WorkerProcess) -> None:
        words = process.words()
        self._died[process.number] = LiveProcess(
            number=process.number,
            phase="died",
            mini_batch=None,
            since_seconds=0.0,
            done=words.done,
            rss_bytes=None,
            pid=None,
            gpu=process.gpu,
        )

    def note_start(self) -> None:
        if self._died:
            del self._died[min(self._died)]

    def due_value(
        self, crew: Iterable[WorkerProcess], rss_bytes: Mapping[int, int], *, now: float
    ) -> bytes | None:
        """Return what to publish, or None when nothing new is to be said yet."""
        if now - self._looked_at < PUBLISH_SECONDS:
            return None
        self._looked_at = now
        processes = tuple(
            _describe(process, rss_bytes.get(process.number)) for process in crew
        ) + tuple(self._died.values())
        shown = tuple(
            (one.number, one.phase, one.mini_batch, one.done, one.rss_bytes)
            for one in processes
        )
        if shown == self._shown and now - self._published_at < RENEW_SECONDS:
            return None
        self._shown, self._published_at = shown, now
        return LiveNode(self._node_name, self._node_index, time.time(), processes).to_json()


def _describe(process: WorkerProcess, rss_bytes: int | None) -> LiveProcess:
    words = process.words()
    names = wire.PHASE_NAMES
    since_ns = words.since_ns or int(process.started_at * 1e9)
    return LiveProcess(
        number=process.number,
        phase=names[words.phase] if words.phase < len(names) else "starting",
        mini_batch=words.mini_batch if words.phase in wire.STARTED_PHASES else None,
        since_seconds=round(max(0.0, (time.monotonic_ns() - since_ns) / 1e9), 3),
        done=words.done,
        rss_bytes=rss_bytes,
        pid=process.pid,
        gpu=process.gpu,
    )
