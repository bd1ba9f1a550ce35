"""One pass of the scheduler over real rows and real beats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from prsweb.jobs.models import Job, JobNode, Node, OrchestratorLease
from runner.core.leases import BEAT_SCRIPT
from runner.core.messages import NodeBeat
from runner.core.redis_keys import NODES, node_beat
from runner.core.states import JobState, NodeState
from runner.core.task_names import MASTER_ROLE_TASK, RUN_ASSIGNMENT_TASK
from runner.orchestrator import scheduler
from runner.orchestrator.scheduler import run_pass

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_memory(monkeypatch: pytest.MonkeyPatch, client: redis.Redis) -> Iterator[None]:
    """Each test is an orchestrator of its own."""
    monkeypatch.setattr(scheduler, "_memory", scheduler._Memory())
    yield


def beat(client: redis.Redis, name: str, **fields: Any) -> None:
    defaults = {
        "boot_id": f"boot-{name}",
        "address": "127.0.1.1",
        "host": "here",
        "location": "here",
        "environment": None,
        "instance_type": None,
        "vcpus": 2,
        "memory_mib": 1024,
        "gpus": 0,
        "version": "0.1.0",
        "started_at": 1.0,
    }
    line = NodeBeat(name=name, **(defaults | fields)).to_json()
    client.eval(BEAT_SCRIPT, 2, node_beat(name), NODES, name, line)


def age(client: redis.Redis, name: str, seconds: float) -> None:
    """Make the node's last beat that old."""
    at, _, line = client.get(node_beat(name)).partition(b" ")
    client.set(node_beat(name), f"{float(at) - seconds:.6f} ".encode() + line)


def test_a_node_joins_with_its_first_beat(client: redis.Redis) -> None:
    beat(client, "n1")

    counts = run_pass()

    assert counts.nodes == 1
    node = Node.objects.get()
    assert (node.name, node.state, node.boot_id, node.vcpus) == ("n1", "online", "boot-n1", 2)


def test_a_submitted_job_starts_on_the_free_nodes_up_to_its_count(
    client: redis.Redis, make_job: Callable[..., Job], sent: list[str]
) -> None:
    for name in ("n1", "n2", "n3"):
        beat(client, name)
    job = make_job(node_count=2)

    run_pass()

    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.STARTING, 1)
    parts = list(JobNode.objects.order_by("index"))
    assert [(one.index, one.assignment, one.node_name) for one in parts] == [
        (0, 1, "n1"),
        (1, 2, "n2"),
    ]
    assert parts[0].process_count == 2
    assert Node.objects.filter(job=job).count() == 2
    assert sorted(sent) == sorted([RUN_ASSIGNMENT_TASK] * 2 + [MASTER_ROLE_TASK])


def test_a_waiting_job_says_what_it_needs_what_is_free_and_who_holds_the_rest(
    client: redis.Redis, make_job: Callable[..., Job], sent: list[str]
) -> None:
    for name in ("n1", "n2"):
        beat(client, name)
    make_job(node_count=2, name="first")
    second = make_job(node_count=2, name="second")

    run_pass()

    second.refresh_from_db()
    assert second.state == JobState.RUNNABLE
    assert second.state_reason == (
        "waiting for nodes: it asks for 2 nodes and starts with the first, 0 are free;"
        " place 1 in queue default; held by job first (2 nodes)"
    )


def test_a_node_without_a_beat_is_lost_and_comes_back(client: redis.Redis) -> None:
    beat(client, "n1")
    run_pass()
    scheduler._memory.beats._remembered.clear()  # type: ignore[union-attr]
    wait_for_uptime(client)
    age(client, "n1", 16)

    run_pass()
    assert Node.objects.get().state == NodeState.LOST

    beat(client, "n1", boot_id="another")
    run_pass()
    node = Node.objects.get()
    assert (node.state, node.boot_id) == (NodeState.ONLINE, "another")


def wait_for_uptime(client: redis.Redis) -> None:
    """The tests' server has not been up for as long as a node may be silent, so the
    reader is told that it has."""
    reader = scheduler._memory.reader()
    execute = reader.client.pipeline

    def pipeline(**options: Any) -> Any:
        found = execute(**options)
        run = found.execute

        def with_long_uptime() -> list[Any]:
            answers = run()
            for answer in answers:
                if isinstance(answer, dict) and "uptime_in_seconds" in answer:
                    answer["uptime_in_seconds"] = 3600
            return answers

        found.execute = with_long_uptime
        return found

    reader.client.pipeline = pipeline  # type: ignore[method-assign]


def test_a_server_that_was_just_started_makes_no_node_look_lost(client: redis.Redis) -> None:
    beat(client, "n1")
    run_pass()
    uptime = client.info("server")["uptime_in_seconds"]
    age(client, "n1", uptime + 3600 if uptime < 15 else 1)

    run_pass()

    assert Node.objects.get().state == NodeState.ONLINE


def test_a_wiped_redis_makes_no_node_look_lost(client: redis.Redis) -> None:
    beat(client, "n1")
    run_pass()

    client.flushall()
    run_pass()

    assert Node.objects.get().state == NodeState.ONLINE


def test_a_job_that_nobody_leads_gets_its_master_role_again(
    client: redis.Redis, make_job: Callable[..., Job], sent: list[str]
) -> None:
    past = timezone.now() - timedelta(seconds=1)
    make_job(state=JobState.RUNNING, master_owner="gone", master_lease_until=past)
    led = timezone.now() + timedelta(seconds=10)
    make_job(state=JobState.RUNNING, master_owner="there", master_lease_until=led)

    assert run_pass().rescued == 1
    assert run_pass().rescued == 0  # it was sent just now

    assert sent == [MASTER_ROLE_TASK]


def test_a_lost_assignment_is_sent_again(
    client: redis.Redis, make_job: Callable[..., Job], sent: list[str]
) -> None:
    beat(client, "n1")
    make_job()
    run_pass()
    sent.clear()
    JobNode.objects.update(granted_at=timezone.now() - timedelta(seconds=10))
    scheduler._memory.sent.clear()

    counts = run_pass()

    assert counts.resent == 1
    assert RUN_ASSIGNMENT_TASK in sent


def test_a_node_whose_job_has_ended_is_free_again(
    client: redis.Redis, make_job: Callable[..., Job]
) -> None:
    beat(client, "n1")
    run_pass()
    Node.objects.update(job=make_job(state=JobState.FAILED))

    run_pass()

    assert Node.objects.get().job is None


def test_a_waiting_job_that_was_told_to_cancel_is_cancelled(
    client: redis.Redis, make_job: Callable[..., Job]
) -> None:
    job = make_job(
        state=JobState.RUNNABLE,
        cancel_requested_at=timezone.now(),
        cancel_requested_by="maria",
        cancel_reason="wrong model",
    )

    run_pass()

    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert "maria" in job.state_reason


def test_one_pass_at_a_time(client: redis.Redis) -> None:
    beat(client, "n1")
    OrchestratorLease.objects.create(
        name="scheduler", owner="other", until=timezone.now() + timedelta(seconds=9)
    )

    assert run_pass().was_refused
    assert not Node.objects.exists()


def test_a_pass_asked_for_during_another_is_done_after_it(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def look() -> scheduler.PassCounts:
        looks.append(1)
        if len(looks) == 1:
            thread = threading.Thread(target=run_pass)
            thread.start()
            thread.join(10)
        return scheduler.PassCounts()

    monkeypatch.setattr(scheduler, "_run_guarded", look)

    run_pass()

    assert len(looks) == 2


def test_without_redis_a_pass_changes_nothing(
    client: redis.Redis, no_redis: None, make_job: Callable[..., Job]
) -> None:
    job = make_job()

    assert run_pass().nodes == 0

    job.refresh_from_db()
    assert job.state == JobState.SUBMITTED
