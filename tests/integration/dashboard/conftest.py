"""Jobs with everything in them, and a Redis of the test's own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.utils import timezone

from prsweb.cli.up.redis_server import find_server_binary
from runner.core.layout import Home
from runner.core.manifest import ManifestWriter
from runner.core.states import JobState, MiniBatchState
from runner.core.wire_format import wire

HOSTILE = "<script>alert('prsweb')</script>"


@pytest.fixture
def full_job(make_job: Callable[..., Any], home: Home) -> Callable[..., Any]:
    """Return ``full_job(text="", **fields)``: a job with nodes, processes, mini-batches,
    tries, errors, samples, logs and an output; ``text`` stands in all that users name."""
    return lambda text="", **fields: _full_job(make_job, home, text, fields)


def _full_job(make_job: Callable[..., Any], home: Home, text: str, fields: Any) -> Any:
    from prsweb.jobs.models import Attempt, JobEvent

    now = timezone.now()
    defaults = {
        "name": f"score{text}",
        "state": JobState.RUNNING,
        "state_reason": f"the first process was started{text}",
        "spec": _spec(text),
        "given_keys": ["mini_batch_size"],
        "tags": {f"team{text}": f"vision{text}"},
        "changes": [{"path": "mini_batch_size", "old": f"5{text}", "new": f"2{text}"}],
        "warnings": [f"a warning{text}"],
        "started_at": now - timedelta(minutes=2),
        "running_at": now - timedelta(minutes=2),
        "node_count": 2,
        "attempt": 1,
        "mini_batches_created": 10,
        "items_created": 20,
        "running_count": 2,
        "succeeded_count": 4,
        "failed_count": 2,
        "partial_count": 1,
        "succeeded_items": 9,
        "failed_items": 5,
        "error_group_count": 1,
        "remaining_seconds": 30.0,
        "remaining_seconds_low": 20.0,
        "remaining_seconds_high": 40.0,
    }
    job = make_job(**(defaults | fields))
    Attempt.objects.create(job=job, number=1, granted_at=now, started_at=now, reason=text)
    JobEvent.objects.create(
        job=job, at=now, kind="state", to_state=JobState.RUNNING, actor=f"x{text}", reason=text
    )
    _make_nodes(job, text)
    _make_mini_batches(job, home, text)
    _make_samples(job)
    _write_files(job, home, text)
    return job


def _spec(text: str) -> dict[str, Any]:
    return {
        "kind": "parallel_run_step",
        "name": f"score{text}",
        "queue": "default",
        "tags": {},
        "parameters": {},
        "inputs": [{"name": f"in{text}", "type": "files", "path": f"/data{text}"}],
        "mini_batch_size": 2,
        "entry_script": f"score.py{text}",
        "environment_variables": {"API_TOKEN": "do-not-show-me"},
        "arguments": ["--password", "do-not-show-me"],
        "bindings": {},
    }


def _make_nodes(job: Any, text: str) -> None:
    from prsweb.jobs.models import JobNode, JobProcess, Node

    now = timezone.now()
    for index, name in enumerate((f"n1{text}", "n2")):
        Node.objects.get_or_create(
            name=name,
            defaults={
                "boot_id": "b1",
                "address": "127.0.1.1",
                "host": f"vm{text}",
                "location": text,
                "vcpus": 1,
                "memory_mib": 1024,
                "version": "0.1.0",
                "joined_at": now,
                "up_since": now,
                "beat_at": now,
                "job": job,
            },
        )
        JobNode.objects.create(
            job=job,
            assignment=index + 1,
            index=index,
            node_name=name,
            boot_id="b1",
            address="127.0.1.1",
            state="RUNNING",
            state_reason=f"process000 was started{text}",
            granted_at=now,
            started_at=now,
        )
        for number in range(2):
            JobProcess.objects.create(
                job=job,
                assignment=index + 1,
                node_index=index,
                node_name=name,
                number=number,
                pid=100 + number,
                segment="s",
                started_at=now,
                ready_at=now,
                ended_at=now if number else None,
                end=f"killed by signal 9{text}" if number else "",
            )


def _make_mini_batches(job: Any, home: Home, text: str) -> None:
    from prsweb.jobs.models import ErrorGroup, MiniBatch, MiniBatchTry
    from prsweb.jobs.models.mini_batch import mini_batch_key, process_key

    now = timezone.now()
    group = ErrorGroup.objects.create(
        job=job,
        fingerprint="v1:5d0e77ab",
        kind="exception",
        title=f"KeyError: 'label'{text}",
        pattern=f"<text>{text}",
        place=f"score.py:7{text}",
        count=4,
        mini_batch_count=2,
        nodes=[f"n1{text}"],
        first_at=now,
        last_at=now,
        traceback=f"Traceback (most recent call last):\nKeyError: 'label'{text}",
        first_mini_batch=1,
        first_try=1,
        first_process=process_key(0, 0),
        sample_mini_batches=[1, 2],
    )
    times = {"started_us": 1_700_000_000_000_000, "wait_us": 10, "load_us": 20}
    numbers = {**times, "run_us": 3_000_000, "total_us": 4_000_000}
    good = [(0, 3), (3, 3), (4, 3), (5, 3), (6, 4), (1, 5), (2, 5)]
    for index, state in good:
        MiniBatch.objects.create(
            key=mini_batch_key(job.pk, index),
            state=state,
            items=2,
            succeeded={3: 2, 4: 1, 5: 0}[state],
            results=1,
            tries=1,
            status=wire.RUN_DONE,
            process=process_key(0, 0),
            offset=0,
            length=9,
            **numbers,
        )
        if state == MiniBatchState.FAILED:
            MiniBatchTry.objects.create(
                mini_batch=mini_batch_key(job.pk, index),
                number=1,
                status=wire.RUN_EXCEPTION,
                process=process_key(0, 0),
                items=2,
                error_group=group,
                error=f"KeyError: 'label'{text}",
                **numbers,
            )
    manifest = ManifestWriter(home.job(job.job_id))
    for index in range(10):
        manifest.append_paths([f"/d{text}/{index}-{part}".encode() for part in "ab"], 0)
    manifest.close()


def _make_samples(job: Any) -> None:
    from prsweb.jobs.models import Sample

    start_ms = int(timezone.now().timestamp() * 1000)
    for process in (None, 0):
        for second in range(3):
            Sample.objects.create(
                job=job,
                at_ms=start_ms + second * 1000,
                node_index=0,
                process=process,
                cpu_percent=50.0,
                rss_bytes=1 << 20,
                received_bytes=second * 1000,
                written_bytes=second * 1000,
            )


def _write_files(job: Any, home: Home, text: str) -> None:
    folder = home.job(job.job_id)
    name = text.replace("/", "∕")  # a file name holds no slash
    error_log = folder.user_logs / "error" / f"n1{name}" / "process000.txt"
    for path in (error_log, folder.logs / "sys" / "master_role.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"a line\n|mini-batch 1 try 1|Traceback\nKeyError: 'label'{text}\n")
    (folder.logs / f"odd{name}.txt").write_text(f"{text}\n")
    (folder.logs / "empty.txt").write_text("")
    (folder.logs / "job_progress_overview.2026010100.txt").write_text(f"Processed 7{text}\n")
    (folder.output / "parallel_run_step.txt").write_text(f"a,1{text}\nb,2{text}\n")
    (folder.output / f"own{name}.txt").write_text(text)


@pytest.fixture
def redis_server(tmp_path_factory: pytest.TempPathFactory, settings: Any) -> Iterator[Any]:
    """A client of an empty Redis, which the pages use too."""
    folder = tmp_path_factory.mktemp("r")
    options = ["--port", "0", "--unixsocket", "redis.sock", "--save", ""]
    server = subprocess.Popen(
        [str(find_server_binary()), *options], cwd=folder, stdout=subprocess.DEVNULL
    )
    url = f"unix://{folder}/redis.sock"
    client = redis.Redis.from_url(url)
    try:
        _wait_for(client)
        settings.PRSWEB_REDIS_URL = url
        yield client
    finally:
        client.close()
        server.terminate()
        server.wait(10)


def _wait_for(client: redis.Redis) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            client.ping()
        except redis.RedisError:
            time.sleep(0.02)
        else:
            return
    pytest.fail("the Redis server did not answer within 10 s")


@pytest.fixture
def million_lines(home: Home, make_job: Callable[..., Any]) -> Path:
    """A log of 1,000,000 lines in a job of its own."""
    job = make_job(name="big-log", state=JobState.SUCCEEDED)
    path = home.job(job.job_id).logs / "big.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1, 1_000_001)))
    return path
