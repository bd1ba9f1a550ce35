"""The node's Celery worker: one queue, one assignment at a time, in a thread."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from celery import Celery
from celery.worker import WorkController, state

from runner.core.task_names import node_queue


def run_worker(app: Celery, node_name: str, *, stop: threading.Event) -> None:
    """Take assignments from the node's queue until a signal, which sets ``stop``."""
    worker = app.WorkController(
        hostname=f"node.{node_name}",
        queues=[node_queue(node_name)],
        pool="threads",
        concurrency=1,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        task_events=False,
        pidfile=None,
    )
    _set_signals(stop)
    _start(worker)


def _set_signals(stop: threading.Event) -> None:
    def ask_to_end(number: int, frame: FrameType | None) -> None:
        stop.set()
        state.should_stop = 0  # the consumer's loop looks at it

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask_to_end)


def _start(worker: WorkController) -> None:
    try:
        worker.start()
    finally:
        worker.stop()
