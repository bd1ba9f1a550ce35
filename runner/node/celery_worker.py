"""The node's Celery worker: one queue, one assignment at a time, in a thread."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from celery import Celery
from celery.worker import WorkController, state

from runner.core.redis_url import broker_url
from runner.core.task_names import node_queue


def make_app(redis_url: str) -> Celery:
    """Return an application that receives what ``runner.celery`` sends.

    Not that one: it is made for orchestrators, and loads Django as soon as
    DJANGO_SETTINGS_MODULE is set. Here no fixup is installed.
    """
    app = Celery("prsweb", broker=broker_url(redis_url), fixups=[], set_as_current=True)
    app.conf.update(
        task_ignore_result=True,
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # for ever: Redis may be away for long
        broker_transport_options={"global_keyprefix": "prsweb:celery:"},
        imports=["runner.tasks"],
    )
    return app


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
