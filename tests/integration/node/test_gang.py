"""A multi-node job led by its master role, on real nodes."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil
import pytest
from celery import Celery
from django.utils import timezone

from prsweb.jobs.models import ComputeEnvironment, Job, JobNode, Node
from prsweb.jobs.services.master_lease import release_master_lease, take_master_lease
from prsweb.jobs.services.scheduling import join_node, make_runnable, start_job
from runner.celery import app
from runner.core import redis_keys
from runner.core.messages import StampedBeat
from runner.core.redis_url import broker_url
from runner.core.states import JobState
from runner.orchestrator.gang import GangMaster
from tests.integration.node.conftest import NodeProcess, marked_processes
from tests.integration.node.waiting import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Gang:
    """Nodes and the jobs that the test runs on them."""

    nodes: list[NodeProcess]
    make: Any  # make_job of tests/conftest.py

    def submit(self, command: list[str], **spec: Any) -> Job:
        """Return a RUNNABLE job over all nodes."""
        spec = {
            "kind": "multi_node",
            "nodes": len(self.nodes),
            "main_node": 0,
            "node_groups": [{"nodes": "0:", "command": command, "vcpus": 2, "memory": 256}],
            "stop_grace_seconds": 1,
            **spec,
        }
        attempts = spec.get("retry", {}).get("attempts", 1)
        job = self.make(
            kind="multi_node",
            spec=spec,
            node_count=len(self.nodes),
            main_node=0,
            attempt_limit=attempts,
        )
        folder = self.nodes[0].home.job(job.job_id)
        folder.spec.write_text(json.dumps(spec))
        make_runnable(job)
        return job

    def grant(self, job: Job) -> None:
        """As the scheduler does."""
        rows = []
        for node in self.nodes:
            value = node.server.client.get(redis_keys.node_beat(node.name))
            beat = StampedBeat.parse(value).beat
            row = join_node(beat, at=timezone.now())
            Node.objects.filter(pk=row.pk).update(job=None, boot_id=beat.boot_id)
            row.refresh_from_db()
            rows.append(row)
        job.refresh_from_db()
        start_job(job, rows, reason="granted")

    def lead(self, job: Job, until: Callable[[], Any], what: str) -> None:
        """Lead the job, as an orchestrator does, until the condition is true; then
        give it back. In this thread: the test's database is one connection's."""
        owned, owner = take_master_lease(job.pk)
        master = GangMaster(owned, owner, self.nodes[0].server.client, threading.Event())
        master.begin()
        deadline = time.monotonic() + 40
        while not master.look() and not until():
            assert time.monotonic() < deadline, f"{what} did not happen"
            master.wait()
        release_master_lease(owned, owner)
        job.refresh_from_db()

    def finish(self, job: Job) -> Job:
        self.lead(job, lambda: False, "the end of the attempt")
        return job

    def run(self, job: Job) -> Job:
        """Grant and lead one attempt; return the job as it is then."""
        self.grant(job)
        return self.finish(job)

    def start(self, job: Job) -> None:
        """Grant the nodes and lead until every one runs its command."""
        self.grant(job)
        running = ["RUNNING"] * len(self.nodes)
        self.lead(job, lambda: [one.state for one in rows_of(job)] == running, "running nodes")


@pytest.fixture
def gang(server, home, tmp_path, make_job, monkeypatch, settings):
    settings.PRSWEB_REDIS_URL = server.url
    # The application that sends was made for another server when it was imported.
    sender = Celery(broker=broker_url(server.url), set_as_current=False)
    sender.conf.broker_transport_options = app.conf.broker_transport_options
    monkeypatch.setattr("prsweb.jobs.dispatch.app", sender)
    ComputeEnvironment.objects.get_or_create(name="default")
    nodes = [
        NodeProcess(
            server,
            home,
            tmp_path / f"n{k}.log",
            f"n{k}",
            settings={"PRSWEB_NODE_ADDRESS": f"127.0.1.{k}"},
        )
        for k in (1, 2, 3)
    ]
    for node in nodes:
        node.start()
    try:
        yield Gang(nodes, make_job)
    finally:
        sender.close()
        for node in nodes:
            node.ask_to_end()
        for node in nodes:
            node.stop()
            sys.stderr.write(node.log.read_text())
        left = marked_processes(PRSWEB_HOME=str(home.root))
        assert not left


def rows_of(job: Job) -> list[JobNode]:
    return list(JobNode.objects.filter(job=job, attempt=job.attempt).order_by("index"))


def log_of(gang: Gang, job: Job, index: int, attempt: int = 1) -> str:
    return gang.nodes[0].home.job(job.job_id).attempt_log(index, attempt).read_text()


IS_MAIN = '[ "$AWS_BATCH_JOB_NODE_INDEX" = "$AWS_BATCH_JOB_MAIN_NODE_INDEX" ]'


def test_the_main_node_starts_first_and_its_exit_ends_the_job(gang):
    job = gang.submit(
        [
            "sh",
            "-c",
            "cd $PRSWEB_SHARED_DIR\n"
            f"if {IS_MAIN}; then\n"
            "  cat $PRSWEB_HOSTFILE\n"
            "  while [ $(ls | wc -l) -lt 2 ]; do sleep 0.05; done\n"
            "  exit 0\n"
            "fi\n"
            "echo $AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS $PRSWEB_NODE_ADDRESS\n"
            "touch $AWS_BATCH_JOB_NODE_INDEX; exec sleep 99",
        ]
    )

    job = gang.run(job)

    assert (job.state, job.exit_code) == (JobState.SUCCEEDED, 0)
    assert job.status_reason == "Essential container in task exited"
    assert [row.state for row in rows_of(job)] == ["SUCCEEDED", "FAILED", "FAILED"]
    assert [row.exit_code for row in rows_of(job)] == [0, 143, 143]
    main, *children = rows_of(job)
    assert all(main.started_at <= child.started_at for child in children)
    assert log_of(gang, job, 0) == "".join(f"127.0.1.{k} slots=2\n" for k in (1, 2, 3))
    assert log_of(gang, job, 2) == "127.0.1.1 127.0.1.3\n"
    assert marked_processes(PRSWEB_JOB_ID=job.job_id) == []
    assert not Node.objects.exclude(job=None).exists()
    assert "Status: Completed" in gang.nodes[0].home.job(job.job_id).job_result.read_text()


def test_a_main_node_that_fails_fails_the_job_with_its_code(gang):
    job = gang.run(gang.submit(["sh", "-c", f"{IS_MAIN} && exit 7; sleep 99"]))

    assert (job.state, job.exit_code, job.cause) == (JobState.FAILED, 7, "main_node_exit")
    assert job.state_reason == "the main node (node 0) exited with 7"


def test_a_failed_child_changes_nothing_for_the_job(gang):
    done = "while [ ! -e $PRSWEB_SHARED_DIR/1 ]; do sleep 0.05; done; sleep 0.5"
    child = "touch $PRSWEB_SHARED_DIR/$AWS_BATCH_JOB_NODE_INDEX; exit 3"
    job = gang.run(gang.submit(["sh", "-c", f"{IS_MAIN} && {{ {done}; exit 0; }}; {child}"]))

    assert job.state == JobState.SUCCEEDED
    assert [row.exit_code for row in rows_of(job)] == [0, 3, 3]


def test_a_cancelled_job_leaves_no_process_on_any_node(gang):
    stubborn = (
        "import signal, time\n"
        "signal.signal(15, signal.SIG_IGN)\n"
        "print('ready', flush=True)\n"
        "time.sleep(99)\n"
    )
    job = gang.submit([sys.executable, "-c", stubborn])
    gang.start(job)
    wait_for(lambda: [log_of(gang, job, k) for k in range(3)] == ["ready\n"] * 3, "three lines")

    Job.objects.filter(pk=job.pk).update(
        cancel_requested_at=timezone.now(), cancel_requested_by="alice", cancel_reason="enough"
    )
    gang.finish(job)

    assert job.state == JobState.CANCELLED
    assert job.state_reason == 'cancelled by alice ("enough")'
    assert [row.exit_code for row in rows_of(job)] == [137] * 3
    assert marked_processes(PRSWEB_JOB_ID=job.job_id) == []


def test_a_command_that_is_not_there_could_not_be_started(gang):
    job = gang.run(gang.submit(["no-such-command"]))

    assert job.state == JobState.FAILED
    assert job.status_reason == "Task failed to start"
    assert "command not found: no-such-command (node n1)" in job.state_reason
    assert [row.state_reason for row in rows_of(job)[1:]] == [
        "Main node exited before this node started"
    ] * 2
    assert job.exit_code is None


def test_a_lost_main_node_fails_the_attempt_and_another_follows(gang):
    job = gang.submit(["sleep", "99"], retry={"attempts": 2})
    gang.start(job)

    gang.nodes[0].kill()
    gang.nodes[0].start()
    gang.finish(job)

    assert job.state == JobState.RUNNABLE
    assert "Host EC2 (instance i-" in job.attempts.get(number=1).reason
    assert rows_of(job)[0].state == "LOST"
    assert marked_processes(PRSWEB_JOB_ID=job.job_id) == []
    assert job.master_owner is None
    assert job.outcome_facts == {}


def test_another_master_goes_on_where_the_first_one_stopped(gang):
    job = gang.submit(["sh", "-c", f"{IS_MAIN} && {{ sleep 3; exit 5; }}; sleep 99"])
    gang.start(job)

    gang.nodes[0].server.client.flushall()

    gang.finish(job)

    assert (job.state, job.exit_code) == (JobState.FAILED, 5)


def test_a_job_over_its_timeout_is_stopped_and_not_tried_again(gang):
    job = gang.run(gang.submit(["sleep", "99"], timeout=1, retry={"attempts": 3}))

    assert job.state == JobState.FAILED
    assert job.status_reason == "Job attempt duration exceeded timeout"
    assert psutil.Process(gang.nodes[0].pid).children() == []
