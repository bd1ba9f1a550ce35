"""Keep the rows of the nodes in step with their beats."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from prsweb.jobs.models import Node
from prsweb.jobs.services import scheduling
from prsweb.jobs.transitions import StaleState, move_node
from runner.core.states import LOST_SECONDS, NodeState
from runner.orchestrator.beats import BeatAge
from runner.orchestrator.events import Events

logger = logging.getLogger(__name__)

BEAT_WRITTEN_SECONDS = 5.0  # a row is not written for every beat


def refresh_nodes(beats: dict[str, BeatAge], events: Events) -> list[Node]:
    """Return the rows of all nodes, as the beats say they are now."""
    nodes = {node.name: node for node in Node.objects.order_by("name")}
    for name, age in sorted(beats.items()):
        if name not in nodes and age.age_seconds < LOST_SECONDS:
            nodes[name] = scheduling.join_node(age.beat, at=_time(age))
            logger.info("node %s joined from %s", name, age.beat.host)
            events.publish_node(name)
    for node in nodes.values():
        try:
            _refresh(node, beats.get(node.name), events)
        except StaleState as stale:
            logger.info("%s", stale)
    return list(nodes.values())


def _refresh(node: Node, age: BeatAge | None, events: Events) -> None:
    is_fresh = age is not None and age.age_seconds < LOST_SECONDS
    if age is not None and is_fresh:
        _take_beat(node, age, events)
    elif node.state != NodeState.LOST and _has_been_silent(node, age):
        move_node(node, NodeState.LOST)
        logger.warning("node %s lost: no beat for %d s", node.name, LOST_SECONDS)
        events.publish_node(node.name)
    if node.job_id is not None and scheduling.release_ended(node):
        node.job = None
    scheduling.finish_drain(node)


def _take_beat(node: Node, age: BeatAge, events: Events) -> None:
    at = _time(age)
    if age.beat.boot_id != node.boot_id:
        scheduling.note_new_start(node, age.beat, at=at)
        events.publish_node(node.name)
    elif (at - node.beat_at).total_seconds() >= BEAT_WRITTEN_SECONDS:
        scheduling.note_beat(node, at=at)
    if node.state == NodeState.LOST:
        move_node(node, NodeState.ONLINE)
        events.publish_node(node.name)


def _has_been_silent(node: Node, age: BeatAge | None) -> bool:
    """Without a beat in Redis, nor one that we remember, the row must tell: it may
    be 5 s behind."""
    if age is not None:
        return True
    silent = datetime.now(UTC) - node.beat_at
    return silent.total_seconds() > LOST_SECONDS + BEAT_WRITTEN_SECONDS


def _time(age: BeatAge) -> datetime:
    return datetime.fromtimestamp(age.at, UTC)
