"""One master at a time leads a job."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.jobs.models import Job
from prsweb.jobs.services.master_lease import (
    MasterLeaseLost,
    MasterLeaseRefused,
    release_master_lease,
    renew_master_lease,
    take_master_lease,
)
from runner.core.states import JobState


def let_lapse(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(
        master_lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_a_second_master_is_refused(make_job):
    job = make_job(state=JobState.RUNNING)
    take_master_lease(job.pk)

    with pytest.raises(MasterLeaseRefused):
        take_master_lease(job.pk)


@pytest.mark.parametrize("state", [JobState.SUBMITTED, JobState.RUNNABLE, JobState.FAILED])
def test_a_job_that_is_not_active_has_no_master(make_job, state):
    job = make_job(state=state)

    with pytest.raises(MasterLeaseRefused):
        take_master_lease(job.pk)


def test_a_lapsed_lease_is_taken_over_and_the_first_master_learns_it(make_job):
    job, first = take_master_lease(make_job(state=JobState.RUNNING).pk)
    let_lapse(job)

    taken, second = take_master_lease(job.pk)

    assert taken.take_overs == 1
    with pytest.raises(MasterLeaseLost):
        renew_master_lease(job, first)
    renew_master_lease(taken, second)


def test_a_master_that_slept_goes_on_if_nobody_took_over(make_job):
    job, owner = take_master_lease(make_job(state=JobState.RUNNING).pk)
    let_lapse(job)

    renew_master_lease(job, owner)

    with pytest.raises(MasterLeaseRefused):
        take_master_lease(job.pk)


def test_a_released_lease_is_free_at_once_and_no_take_over(make_job):
    job, owner = take_master_lease(make_job(state=JobState.RUNNING).pk)

    release_master_lease(job, owner)
    again, _ = take_master_lease(job.pk)

    assert again.take_overs == 0


def test_a_stranger_releases_nothing(make_job):
    job, _ = take_master_lease(make_job(state=JobState.RUNNING).pk)

    release_master_lease(job, "somebody else")

    with pytest.raises(MasterLeaseRefused):
        take_master_lease(job.pk)


def test_an_ended_job_cannot_be_led_on(make_job):
    job, owner = take_master_lease(make_job(state=JobState.RUNNING).pk)
    Job.objects.filter(pk=job.pk).update(state=JobState.CANCELLED)

    with pytest.raises(MasterLeaseLost):
        renew_master_lease(job, owner)
