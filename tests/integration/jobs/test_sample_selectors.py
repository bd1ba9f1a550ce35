"""Samples in buckets: a short peak survives."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.jobs.filters import SampleQuery
from prsweb.jobs.models import JobNode, Sample
from prsweb.jobs.selectors.samples import NoSuchProcess, job_samples

START_MS = 1_700_000_000_000


@pytest.fixture
def job(make_job):
    job = make_job()
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


def take(job, *, second, node_index=0, process=None, **values):
    Sample.objects.create(
        job=job,
        at_ms=START_MS + int(second * 1000),
        node_index=node_index,
        process=process,
        **values,
    )


def ask(job, **query):
    return job_samples(job, SampleQuery.model_validate(query))


def test_a_peak_of_one_sample_survives_any_zoom(job):
    for second in range(1000):
        take(job, second=second, cpu_percent=100.0 if second == 500 else 1.0)

    (series,) = ask(job, metric="cpu", points=10).series

    assert len(series.at) <= 10
    assert max(series.max) == 100.0
    assert max(series.mean) < 5.0
    assert list(series.at) == sorted(series.at)


def test_nodes_and_processes_are_asked_for_apart(job):
    take(job, second=0, rss_bytes=1)
    take(job, second=0, process=0, rss_bytes=2)
    take(job, second=0, node_index=1, process=5, rss_bytes=3)

    def found(**query):
        answer = ask(job, metric="memory", **query)
        return [(one.node, one.process) for one in answer.series]

    assert found() == [("n1", None)]
    assert found(process="all") == [("n1", "process000"), ("n2", "process005")]
    assert found(process="n2") == [("n2", "process005")]
    assert found(process="n1/process000") == [("n1", "process000")]
    for unknown in ("n9", "n1/p0"):
        with pytest.raises(NoSuchProcess):
            ask(job, process=unknown)


def test_what_counts_since_the_start_is_shown_per_second(job):
    for second in range(5):
        take(job, second=second, read_bytes=second * 1000)

    answer = ask(job, metric="read")

    assert answer.unit == "bytes per second"
    assert answer.series[0].mean == pytest.approx([1000] * 4, rel=0.01)


def test_what_could_not_be_had_is_left_out_and_never_zero(job):
    take(job, second=0, cpu_percent=None)

    assert ask(job, metric="cpu").series == ()


def test_a_window_of_time_is_kept(job):
    for second in range(10):
        take(job, second=second, thread_count=second)

    answer = ask(
        job,
        metric="threads",
        **{"from": "2023-11-14T22:13:22Z", "to": "2023-11-14T22:13:24Z"},
    )

    assert answer.series[0].max == (2, 3, 4)


def test_too_many_processes_leave_out_the_quietest_and_say_so(job):
    for process in range(70):
        take(job, second=0, process=process, cpu_percent=float(process))

    answer = ask(job, process="all")

    assert len(answer.series) == 64
    assert answer.left_out == 6
    assert answer.series[0].process == "process006"
