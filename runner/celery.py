"""The Celery application of orchestrators and nodes.

A node's worker is started with ``-Q node.NAME``, an orchestrator's with
``-Q orchestrator``; both load ``runner.tasks``. Results are not kept: what is
true stands in the database.
"""

from __future__ import annotations

import os

from celery import Celery

from runner.core.redis_url import broker_url

# No retry loop without end when the broker is away at start: the supervisor restarts.
app = Celery("prsweb", broker=broker_url(os.environ.get("PRSWEB_REDIS_URL", "redis://")))
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"global_keyprefix": "prsweb:celery:"},
    task_default_queue="orchestrator",
    imports=["runner.tasks"],
)
