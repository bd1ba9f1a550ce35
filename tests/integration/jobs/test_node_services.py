"""Draining nodes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.accounts.permissions import Actor, NotAllowed
from prsweb.jobs.models import Node
from prsweb.jobs.services.nodes import CannotDrain, drain_node, undrain_node
from runner.core.states import JobState, NodeState


def make_node(**fields):
    now = timezone.now()
    defaults = {
        "name": "n1",
        "boot_id": "b1",
        "address": "127.0.1.1",
        "host": "here",
        "location": "here",
        "vcpus": 1,
        "memory_mib": 1024,
        "version": "0.1.0",
        "joined_at": now,
        "up_since": now,
        "beat_at": now,
    }
    return Node.objects.create(**(defaults | fields))


def test_a_free_node_is_drained_at_once(olga):
    node = drain_node(node=make_node(), actor=Actor(olga))

    assert node.state == NodeState.DRAINED


def test_a_node_with_a_job_ends_it_first(olga, make_job):
    node = make_node(job=make_job(state=JobState.RUNNING))

    drain_node(node=node, actor=Actor(olga))

    assert Node.objects.get().state == NodeState.DRAINING


def test_a_grant_that_came_first_is_seen(olga, make_job):
    node = make_node()
    Node.objects.update(job=make_job(state=JobState.RUNNING))  # after our look

    drain_node(node=node, actor=Actor(olga))

    assert Node.objects.get().state == NodeState.DRAINING


def test_undrain_takes_it_back(olga):
    node = drain_node(node=make_node(), actor=Actor(olga))

    undrain_node(node=node, actor=Actor(olga))

    assert Node.objects.get().state == NodeState.ONLINE
    with pytest.raises(CannotDrain):
        undrain_node(node=node, actor=Actor(olga))


def test_a_lost_node_is_not_drained(olga):
    with pytest.raises(CannotDrain):
        drain_node(node=make_node(state=NodeState.LOST), actor=Actor(olga))


def test_only_operators_drain(alice):
    with pytest.raises(NotAllowed):
        drain_node(node=make_node(), actor=Actor(alice))
