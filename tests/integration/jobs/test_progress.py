"""Progress from the counters on the job's row."""

from __future__ import annotations

import random

import pytest

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.progress import job_progress
from runner.core.states import JobState

STATES = ("waiting", "running", "retrying", "succeeded", "partial", "failed", "not_run")


def total(progress) -> int:
    return sum(getattr(progress, state) for state in STATES)


@pytest.mark.parametrize("state", list(JobState))
def test_the_parts_always_add_up_to_what_was_created(state):
    """Also while nodes tell of more running ones than are left."""
    numbers = random.Random(4)

    for _ in range(200):
        job = Job(
            state=state,
            mini_batches_created=numbers.randrange(20),
            running_count=numbers.randrange(10),
            retrying_count=numbers.randrange(5),
            succeeded_count=numbers.randrange(8),
            failed_count=numbers.randrange(3),
            partial_count=numbers.randrange(3),
        )
        progress = job_progress(job)

        assert total(progress) == progress.created
        assert all(getattr(progress, part) >= 0 for part in STATES)
        assert 0 <= progress.done_percent <= 100


def test_a_job_without_mini_batches_is_at_zero():
    assert job_progress(Job(state=JobState.RUNNING)).done_percent == 0.0


def test_after_the_end_the_rest_was_not_run_and_no_time_is_left():
    job = Job(
        state=JobState.FAILED,
        mini_batches_created=10,
        succeeded_count=4,
        running_count=3,
        is_listing=True,
        remaining_seconds=5,
    )

    progress = job_progress(job)

    assert (progress.not_run, progress.running, progress.waiting) == (6, 0, 0)
    assert progress.remaining_seconds is None
    assert not progress.listing
