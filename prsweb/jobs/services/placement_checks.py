"""Could the job ever be placed: its queue, and as many nodes as it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Q

from prsweb.jobs.models import ComputeEnvironment, JobQueue, Node
from runner.core.problems import Problem, found_text, nearest_name
from runner.core.states import JobKind, NodeState


def check_placement(spec: dict[str, Any]) -> Iterator[Problem]:
    queue = JobQueue.objects.filter(name=spec["queue"]).first()
    if queue is None:
        names = list(JobQueue.objects.order_by("name").values_list("name", flat=True))
        near = nearest_name(spec["queue"], names)
        hint = f", did you mean {near}?" if near else f"; there are {', '.join(names)}"
        yield Problem("queue", f"no such job queue{hint}", found_text(spec["queue"]))
        return
    if not queue.enabled:
        yield Problem("queue", "is disabled; choose another one", found_text(queue.name))
    is_multi_node = spec["kind"] == JobKind.MULTI_NODE
    key = "nodes" if is_multi_node else "node_count"
    wanted = spec.get(key, 1)
    most = most_nodes(queue)
    if wanted > max(1, most):
        some = "1 node exists" if most == 1 else f"only {most} nodes exist"
        yield Problem(key, f"{some} in queue {queue.name}", found_text(wanted))


def most_nodes(queue: JobQueue) -> int:
    """Return how many nodes a job of that queue can get: the most of its environments
    where a limit is set, else the nodes joined now."""
    names = list(queue.environments)
    environments = ComputeEnvironment.objects.filter(name__in=names, enabled=True)
    limits = [environment.max_nodes for environment in environments]
    joined = Node.objects.exclude(state=NodeState.LOST).filter(
        Q(environment__in=names) | Q(environment=None)
    )
    unlimited = None in limits or not limits
    most = joined.count() if unlimited else sum(limit or 0 for limit in limits)
    return min(most, settings.PRSWEB_MAX_NODES_PER_JOB)
