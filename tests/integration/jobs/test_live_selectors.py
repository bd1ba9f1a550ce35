"""What stands in Redis is laid over what the database knows, and may be nonsense."""

from __future__ import annotations

import time

import pytest
from django.utils import timezone

from prsweb.accounts.permissions import Actor
from prsweb.jobs.filters import MiniBatchFilter
from prsweb.jobs.models import JobNode, JobProcess, Node
from prsweb.jobs.selectors.live import live_nodes, node_beats
from prsweb.jobs.selectors.mini_batches import mini_batch_page
from prsweb.jobs.selectors.nodes import node_view
from prsweb.jobs.selectors.processes import job_processes
from prsweb.jobs.services.cancellation import cancel_job
from runner.core.leases import BEAT_SCRIPT
from runner.core.messages import LiveNode, LiveProcess, NodeBeat
from runner.core.redis_keys import NODES, JobKeys, node_beat
from runner.core.states import JobState, NodeState


def beat(client, name="n1", boot_id="b"):
    sent = NodeBeat(
        name=name,
        boot_id=boot_id,
        address="127.0.1.1",
        host="here",
        location="here",
        environment=None,
        instance_type=None,
        vcpus=1,
        memory_mib=1024,
        gpus=0,
        version="0.1.0",
        started_at=0.0,
        cpu_percent=12.5,
    )
    client.eval(BEAT_SCRIPT, 2, node_beat(name), NODES, name, sent.to_json())


def make_node(**fields):
    long_ago = timezone.now() - timezone.timedelta(minutes=5)
    return Node.objects.create(
        name="n1",
        boot_id="b",
        address="127.0.1.1",
        host="here",
        location="here",
        vcpus=1,
        memory_mib=1024,
        version="0.1.0",
        joined_at=long_ago,
        up_since=long_ago,
        beat_at=long_ago,
        **fields,
    )


@pytest.fixture
def job(make_job):
    job = make_job(state=JobState.RUNNING, mini_batches_created=10)
    JobNode.objects.create(
        job=job,
        assignment=1,
        index=0,
        node_name="n1",
        boot_id="b",
        address="127.0.1.1",
        granted_at=timezone.now(),
    )
    JobProcess.objects.create(
        job=job,
        assignment=1,
        node_index=0,
        node_name="n1",
        number=3,
        pid=77,
        segment="s",
        started_at=timezone.now(),
    )
    return job


def tell_live(client, job, **fields):
    defaults = {
        "number": 3,
        "phase": "run",
        "mini_batch": 7,
        "since_seconds": 2.0,
        "done": 6,
        "rss_bytes": 1000,
        "pid": 77,
    }
    live = LiveNode("n1", 0, time.time(), (LiveProcess(**(defaults | fields)),))
    client.set(JobKeys(job.job_id).live("n1"), live.to_json())


def test_a_beat_in_redis_is_newer_than_the_row(redis_server, alice):
    make_node()
    beat(redis_server)

    node = node_view(alice, "n1")

    assert node.state == NodeState.ONLINE
    assert node.beat_age_seconds < 5
    assert node.cpu_percent == 12.5


def test_a_beat_of_another_start_does_not_count_for_this_row(redis_server, alice):
    make_node()
    beat(redis_server, boot_id="another")

    assert node_view(alice, "n1").state == NodeState.LOST


def test_a_process_shows_what_it_does_now(redis_server, job):
    tell_live(redis_server, job)

    (process,) = job_processes(job)

    assert (process.state, process.mini_batch, process.done) == ("run", 7, 6)
    assert abs((timezone.now() - process.since_at).total_seconds() - 2) < 1


def test_a_mini_batch_that_runs_now_says_where(redis_server, job):
    tell_live(redis_server, job)

    (running,) = mini_batch_page(
        job, MiniBatchFilter.model_validate({"state": "running"})
    ).mini_batches
    everything = mini_batch_page(job, MiniBatchFilter.model_validate({})).mini_batches

    assert (running.index, running.node, running.process) == (7, "n1", "process003")
    assert [one.state for one in everything].count("running") == 1


@pytest.mark.parametrize("value", [b"", b"nonsense", b"1.0 [1]", b'{"node_name": 1}'])
def test_nonsense_in_redis_is_left_out(redis_server, job, alice, value):
    make_node()
    redis_server.set(node_beat("n1"), value)
    redis_server.set(JobKeys(job.job_id).live("n1"), value)

    assert node_beats(["n1"])[0] == {}
    assert live_nodes(job.job_id, ["n1"]) == {}
    assert job_processes(job)[0].state == "init"


def test_the_bell_of_the_master_role_is_rung_once(
    redis_server, job, alice, sent, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        cancel_job(job=job, actor=Actor(alice), reason="")
        cancel_job(job=job, actor=Actor(alice), reason="")

    assert redis_server.llen(JobKeys(job.job_id).wake) == 1
