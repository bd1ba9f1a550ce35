"""Deleting a job removes rows and files together."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.accounts.models import AuditEntry
from prsweb.accounts.permissions import Actor, NotAllowed
from prsweb.jobs.models import ErrorGroup, Job, JobEvent, MiniBatch, MiniBatchTry, Sample
from prsweb.jobs.models.mini_batch import mini_batch_key
from prsweb.jobs.services import deletion
from prsweb.jobs.services.deletion import CannotDelete, delete_job
from runner.core.states import JobState

pytestmark = pytest.mark.usefixtures("no_redis")

TIMES = dict.fromkeys(("started_us", "wait_us", "load_us", "run_us", "total_us"), 1)


def fill(job, *, mini_batches):
    MiniBatch.objects.bulk_create(
        MiniBatch(
            key=mini_batch_key(job.pk, index),
            state=3,
            items=1,
            succeeded=1,
            results=1,
            tries=1,
            status=0,
            process=0,
            offset=0,
            length=1,
            **TIMES,
        )
        for index in range(mini_batches)
    )
    MiniBatchTry.objects.create(
        mini_batch=mini_batch_key(job.pk, 0), number=1, status=1, process=0, items=1, **TIMES
    )
    Sample.objects.create(job=job, at_ms=1, node_index=0)
    now = timezone.now()
    ErrorGroup.objects.create(
        job=job, fingerprint="v1:a", kind="exception", title="E", first_at=now, last_at=now
    )


def test_nothing_of_the_job_is_left_and_its_neighbour_stays_whole(
    make_job, alice, home, monkeypatch
):
    monkeypatch.setattr(deletion, "CHUNK_KEYS", 3)
    job, neighbour = make_job(state=JobState.FAILED), make_job(state=JobState.FAILED)
    fill(job, mini_batches=10)
    fill(neighbour, mini_batches=10)

    delete_job(job=job, actor=Actor(alice))

    assert list(Job.objects.all()) == [neighbour]
    assert MiniBatch.objects.count() == MiniBatch.objects.of_job(neighbour.pk).count() == 10
    for table in (MiniBatchTry, Sample, ErrorGroup):
        assert table.objects.count() == 1
    assert [path.name for path in home.jobs.iterdir()] == [neighbour.job_id]
    assert AuditEntry.objects.get().action == "delete job"


@pytest.mark.parametrize("state", [JobState.RUNNABLE, JobState.RUNNING])
def test_a_job_that_has_not_ended_stays(make_job, alice, home, state):
    job = make_job(state=state)

    with pytest.raises(CannotDelete):
        delete_job(job=job, actor=Actor(alice))

    assert home.job(job.job_id).root.exists()


def test_a_deletion_that_broke_off_is_ended_by_the_next(make_job, alice, home, monkeypatch):
    job = make_job(state=JobState.FAILED)
    fill(job, mini_batches=2)

    def break_off(_):
        raise RuntimeError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(deletion, "_delete_mini_batches", break_off)
        with pytest.raises(RuntimeError):
            delete_job(job=job, actor=Actor(alice))
    delete_job(job=job, actor=Actor(alice))

    assert not Job.objects.exists()
    assert list(home.jobs.iterdir()) == []


def test_bob_deletes_nothing_of_alice(make_job, bob):
    with pytest.raises(NotAllowed):
        delete_job(job=make_job(state=JobState.FAILED), actor=Actor(bob))

    assert Job.objects.exists()
    assert not JobEvent.objects.exists()
