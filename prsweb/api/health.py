"""Is the server alive, and is the whole system ready. Open to everybody, says no more."""

from __future__ import annotations

import os
import shutil
import threading
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from prsweb.jobs.models import Node, OrchestratorLease
from prsweb.jobs.selectors.live import is_redis_up, node_beats
from runner.core.states import LOST_SECONDS, NodeState, node_state_at

OK = "ok"
LEAST_FREE_BYTES = 64 * 1024 * 1024
# How many nodes ``up`` has started. Ready for the first time means all of them are
# online, so a job submitted then can use every one; later one is enough.
UP_NODES_VARIABLE = "PRSWEB_UP_NODES"
_was_ready = threading.Event()


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"ok": True})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    database = _database()
    parts = {
        "database": database,
        "redis": OK if is_redis_up() else "away",
        "disk": _disk(),
        "orchestrator": _orchestrator() if database == OK else "unknown",
        "nodes": _nodes() if database == OK else "unknown",
    }
    ready = all(word == OK for word in parts.values())
    if ready:
        _was_ready.set()
    return JsonResponse({"ready": ready, **parts}, status=200 if ready else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM jobs_job LIMIT 1")
    except DatabaseError:
        return "away"
    return OK


def _disk() -> str:
    home = settings.PRSWEB_HOME
    try:  # the job folders may lie on a disk of their own
        free = min(shutil.disk_usage(folder).free for folder in (home.root, home.jobs))
    except OSError:
        return "missing"
    if not os.access(settings.PRSWEB_HOME.jobs, os.W_OK | os.X_OK):
        return "read-only"
    return OK if free >= LEAST_FREE_BYTES else "full"


def _orchestrator() -> str:
    """An orchestrator looks once a second: it holds the right to while it looks, and
    writes the beats that it has read."""
    now = timezone.now()
    looks = OrchestratorLease.objects.filter(until__gt=now).exists()
    just_looked = now - timedelta(seconds=LOST_SECONDS)
    if looks or Node.objects.filter(beat_at__gt=just_looked).exists():
        return OK
    return "silent"


def _nodes() -> str:
    """The rows count, for the scheduler places jobs by them; their beats say if they live."""
    rows = list(Node.objects.all())
    beats, now = node_beats([row.name for row in rows])
    online = 0
    for row in rows:
        beat = beats.get(row.name)
        is_this_start = beat is not None and beat.beat.boot_id == row.boot_id
        age = now - beat.at if beat is not None and is_this_start else None
        online += node_state_at(NodeState(row.state), age) is not NodeState.LOST
    expected = 1 if _was_ready.is_set() else int(os.environ.get(UP_NODES_VARIABLE) or 1)
    if online >= expected:
        return OK
    return f"{online} of {expected}"
