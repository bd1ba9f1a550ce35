"""Nodes and processes, with and without Redis."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.jobs.filters import NodeFilter
from prsweb.jobs.models import JobNode, JobProcess, Node
from prsweb.jobs.selectors.nodes import NoSuchNode, list_nodes, node_view
from prsweb.jobs.selectors.processes import job_processes
from runner.core.states import JobNodeState, JobState, NodeState

pytestmark = pytest.mark.usefixtures("no_redis")


def make_node(name="n1", *, silent_seconds=0.0, **fields):
    now = timezone.now()
    return Node.objects.create(
        name=name,
        boot_id="b",
        address="127.0.1.1",
        host="here",
        location="here",
        vcpus=1,
        memory_mib=1024,
        version="0.1.0",
        joined_at=now,
        up_since=now,
        beat_at=now - timedelta(seconds=silent_seconds),
        **fields,
    )


@pytest.mark.parametrize(
    ("silent_seconds", "state"),
    [(0, NodeState.ONLINE), (6, NodeState.LATE), (16, NodeState.LOST)],
)
def test_the_state_of_a_node_follows_from_the_age_of_its_beat(alice, silent_seconds, state):
    make_node(silent_seconds=silent_seconds)

    assert node_view(alice, "n1").state == state


def test_nodes_are_in_the_order_of_their_numbers_and_paged(alice):
    for number in (10, 2, 1):
        make_node(f"n{number}")

    first = list_nodes(alice, NodeFilter.model_validate({"limit": 2}))
    rest = list_nodes(alice, NodeFilter.model_validate({"after": first.next}))

    assert [node.name for node in first.nodes + rest.nodes] == ["n1", "n2", "n10"]


def test_a_private_job_on_a_node_is_not_named_to_others(make_job, alice, bob):
    make_node(job=make_job(private=True))

    assert node_view(alice, "n1").job_id
    hidden = node_view(bob, "n1")
    assert (hidden.job_id, hidden.job_name, hidden.is_free) == (None, None, False)


def test_an_unknown_node_says_so(alice):
    with pytest.raises(NoSuchNode):
        node_view(alice, "n9")


def start_process(job, number, **fields):
    return JobProcess.objects.create(
        job=job,
        assignment=1,
        node_index=0,
        node_name="n1",
        number=number,
        pid=100 + number,
        segment="s",
        started_at=timezone.now(),
        **fields,
    )


def test_processes_tell_what_the_database_knows_when_redis_is_away(make_job):
    job = make_job(state=JobState.RUNNING)
    now = timezone.now()
    start_process(job, 0)
    start_process(job, 1, ready_at=now)
    start_process(job, 2, ended_at=now, expected_end=True, end="ended")
    start_process(job, 3, ended_at=now, end="killed by signal 9 (SIGKILL)")

    states = {one.name: one.state for one in job_processes(job)}

    assert states == {
        "n1/process000": "init",
        "n1/process001": "idle",
        "n1/process002": "ended",
        "n1/process003": "died",
    }


def test_processes_of_a_lost_node_are_lost(make_job):
    job = make_job(state=JobState.RUNNING)
    JobNode.objects.create(
        job=job,
        assignment=1,
        index=0,
        node_name="n1",
        boot_id="b",
        address="127.0.1.1",
        state=JobNodeState.LOST,
        granted_at=timezone.now(),
    )
    start_process(job, 0, ready_at=timezone.now())

    assert job_processes(job)[0].state == "lost"
