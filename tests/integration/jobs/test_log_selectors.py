"""Logs of a job: what is there, and nothing that lies elsewhere."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.jobs.filters import LogFilter, LogQuery
from prsweb.jobs.models import JobNode, JobProcess
from prsweb.jobs.selectors.logs import (
    NoSuchLog,
    is_live,
    log_range,
    log_search,
    log_tree,
    open_log_bytes,
    search_job_logs,
)
from runner.core.states import JobState


@pytest.fixture
def job(make_job, home):
    job = make_job(state=JobState.RUNNING)
    logs = home.job(job.job_id).logs
    files = {
        "job_progress_overview.2026013109.txt": "one\ntwo\n",
        "sys/node/n1/process000.txt": "picked\n",
        "user/stdout/n1/process000.stdout.txt": "hello\nKEY here\n",
        "user/stderr/n2/process001.stderr.txt": "key there\n",
        "user/entry_script_log/n2/process001.log.txt": "",
        "user/error.txt": "E",
        "nodes/0/attempt-1.log": "main\n",
    }
    for path, text in files.items():
        (logs / path).parent.mkdir(parents=True, exist_ok=True)
        (logs / path).write_text(text)
    (logs / "user" / "error.txt.idx").write_text("index")
    (logs / "job_progress_overview.txt").symlink_to("job_progress_overview.2026013109.txt")
    (logs / "out.txt").symlink_to("/etc/passwd")
    (logs / "folder").symlink_to("/etc")
    for index, name in enumerate(("n1", "n2")):
        JobNode.objects.create(
            job=job,
            assignment=index + 1,
            index=index,
            node_name=name,
            boot_id="b",
            address="127.0.1.1",
            granted_at=timezone.now(),
        )
    return job


def test_the_tree_says_whose_each_file_is(job):
    entries = {entry.path: entry for entry in log_tree(job).entries}

    assert list(entries) == sorted(entries)
    stdout = entries["user/stdout/n1/process000.stdout.txt"]
    assert (stdout.node, stdout.process, stdout.lines, stdout.bytes) == (
        "n1",
        "process000",
        2,
        15,
    )
    assert entries["user/entry_script_log/n2/process001.log.txt"].node == "n2"
    assert entries["nodes/0/attempt-1.log"].node == "n1"
    assert entries["nodes/0/attempt-1.log"].attempt == 1
    assert entries["job_progress_overview.txt"].lines == 2


def test_indexes_and_links_that_leave_are_not_logs(job):
    paths = [entry.path for entry in log_tree(job).entries]

    assert "user/error.txt.idx" not in paths
    assert "out.txt" not in paths
    assert not any(path.startswith("folder") for path in paths)


def test_the_tree_is_paged_and_filtered(job):
    first = log_tree(job, LogFilter.model_validate({"limit": 3}))
    rest = log_tree(job, LogFilter.model_validate({"after": first.next}))
    of_node = log_tree(job, LogFilter.model_validate({"node": "n2", "stream": "stderr"}))

    paths = [entry.path for entry in log_tree(job).entries]
    assert [entry.path for entry in first.entries + rest.entries] == paths
    assert [entry.path for entry in of_node.entries] == ["user/stderr/n2/process001.stderr.txt"]


HOSTILE = [
    "../spec.json",
    "user/../../spec.json",
    "/etc/passwd",
    "out.txt",
    "folder/passwd",
    "user",
    "",
    "a\0b",
    "nothing.txt",
    "%2e%2e/spec.json",
    "x" * 10_000,
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_leads_out_is_no_log(job, home, path):
    home.job(job.job_id).spec.write_text("{}")

    with pytest.raises(NoSuchLog):
        log_range(job, path, first=1, count=10)
    with pytest.raises(NoSuchLog):
        log_search(job, path, LogQuery(q="x"))
    with pytest.raises(NoSuchLog):
        open_log_bytes(job, path)


def test_the_whole_job_is_searched(job):
    found = search_job_logs(job, LogQuery(q="key"))
    exact = search_job_logs(job, LogQuery(q="key", case=True))

    assert {(hit.path, hit.line, hit.text) for hit in found.hits} == {
        ("user/stdout/n1/process000.stdout.txt", 2, "KEY here"),
        ("user/stderr/n2/process001.stderr.txt", 1, "key there"),
    }
    assert found.is_complete
    assert len(exact.hits) == 1


def test_a_file_gives_at_most_ten_hits_to_the_whole_search(job, home):
    (home.job(job.job_id).logs / "user" / "many.txt").write_text("needle\n" * 50)

    found = search_job_logs(job, LogQuery(q="needle"))

    assert len(found.hits) == 10
    assert not found.is_complete


def test_a_log_is_live_until_its_process_or_the_job_has_ended(job):
    path = "user/stdout/n1/process000.stdout.txt"
    assert is_live(job, path)

    JobProcess.objects.create(
        job=job,
        assignment=1,
        node_index=0,
        node_name="n1",
        number=0,
        pid=1,
        segment="s",
        started_at=timezone.now(),
        ended_at=timezone.now(),
    )
    assert not is_live(job, path)
    assert is_live(job, "user/error.txt")

    job.state = JobState.SUCCEEDED
    assert not is_live(job, "user/error.txt")
