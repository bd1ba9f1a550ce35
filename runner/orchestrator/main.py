"""The orchestrator: ``python -m runner.orchestrator.main``.

A Celery worker on the queue ``orchestrator``, whose tasks are looks of the
scheduler and master roles, each in a thread; beside them a ticker that looks
once a second, whether anybody asks or not.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from types import FrameType

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prsweb.settings")

import django

django.setup()

from celery.worker import WorkController, state  # noqa: E402
from django.db import DatabaseError, connection  # noqa: E402

from runner.celery import app  # noqa: E402
from runner.core.task_names import ORCHESTRATOR_QUEUE  # noqa: E402
from runner.orchestrator.master import stopping  # noqa: E402
from runner.orchestrator.scheduler import run_pass  # noqa: E402

logger = logging.getLogger(__name__)

CONCURRENCY = 32  # master roles at a time
PASS_SECONDS = 1.0
ENDING_SECONDS = 20.0


class Ticker(threading.Thread):
    """Calls ``run_pass`` every second until ``stopping``."""

    def __init__(self) -> None:
        super().__init__(name="ticker", daemon=True)

    def run(self) -> None:
        while not stopping.wait(PASS_SECONDS):
            try:
                run_pass()
            except DatabaseError as error:
                logger.warning("no pass, the database is away: %s", error)
                connection.close()
            except Exception:
                logger.exception("a pass of the scheduler failed")


def main() -> int:
    """Work until a signal ends it. Returns the exit status."""
    app.conf.update(broker_connection_max_retries=None)  # for ever: Redis may be away
    worker = app.WorkController(
        hostname=f"orchestrator.{os.getpid()}",
        queues=[ORCHESTRATOR_QUEUE],
        pool="threads",
        concurrency=CONCURRENCY,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        task_events=False,
        pidfile=None,
    )
    _set_signals()
    ticker = Ticker()
    ticker.start()
    logger.info("orchestrator: up, pid %d", os.getpid())
    _start(worker)
    ticker.join(ENDING_SECONDS)
    logger.info("orchestrator: down")
    return 0


def _set_signals() -> None:
    """Ask masters to give back their jobs, then the worker to end."""

    def ask_to_end(number: int, frame: FrameType | None) -> None:
        stopping.set()
        state.should_stop = 0  # the consumer's loop looks at it

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask_to_end)


def _start(worker: WorkController) -> None:
    try:
        worker.start()
    finally:
        stopping.set()
        worker.stop()


if __name__ == "__main__":
    sys.exit(main())
