"""Cancelling: the end of what waits, an order to what has started."""

from __future__ import annotations

import pytest

from prsweb.accounts.models import AuditEntry, Scope
from prsweb.accounts.permissions import Actor, NotAllowed
from prsweb.jobs.models import Job
from prsweb.jobs.services import cancellation
from prsweb.jobs.services.cancellation import CannotCancel, cancel_job
from prsweb.jobs.transitions import move_job
from runner.core.states import JobState

pytestmark = pytest.mark.usefixtures("no_redis")


def events_of(job):
    return [(event.kind, event.to_state) for event in job.events.order_by("pk")]


def test_a_waiting_job_is_cancelled_at_once(make_job, alice):
    job = make_job(state=JobState.RUNNABLE)

    cancel_job(job=job, actor=Actor(alice), reason="wrong model")

    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert job.state_reason == 'cancelled by alice ("wrong model")'
    assert (job.cause, job.decided_by) == ("cancelled", "alice")
    assert job.ended_at
    assert events_of(job) == [("state", "CANCELLED")]
    assert AuditEntry.objects.get().note == "wrong model"


def test_a_running_job_keeps_its_state_until_nothing_is_left(make_job, alice):
    job = make_job(state=JobState.RUNNING)

    cancel_job(job=job, actor=Actor(alice), reason="wrong model")

    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    assert job.cancel_requested_at
    assert (job.cancel_requested_by, job.cancel_reason) == ("alice", "wrong model")
    assert events_of(job) == [("cancel_ordered", "")]


def test_a_second_order_changes_nothing(make_job, alice, olga):
    job = make_job(state=JobState.RUNNING)
    cancel_job(job=job, actor=Actor(alice), reason="first")

    cancel_job(job=job, actor=Actor(olga), reason="second")

    job.refresh_from_db()
    assert job.cancel_reason == "first"
    assert len(events_of(job)) == 1


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_an_ended_job_cannot_be_cancelled(make_job, alice, state):
    with pytest.raises(CannotCancel, match=state.value):
        cancel_job(job=make_job(state=state), actor=Actor(alice), reason="")


def test_a_job_that_starts_meanwhile_gets_the_order_instead(make_job, alice, monkeypatch):
    job = make_job(state=JobState.RUNNABLE)
    cancel_waiting = cancellation._cancel_waiting

    def too_late(same_job, actor, reason):
        other = Job.objects.get(pk=job.pk)  # the scheduler was faster
        if other.state == JobState.RUNNABLE:
            move_job(other, JobState.STARTING, reason="granted", actor="scheduler")
        cancel_waiting(same_job, actor, reason)

    monkeypatch.setattr(cancellation, "_cancel_waiting", too_late)

    cancel_job(job=job, actor=Actor(alice), reason="")

    job.refresh_from_db()
    assert job.state == JobState.STARTING
    assert job.cancel_requested_at


def test_of_a_cancel_and_an_end_at_once_the_end_stays(make_job, alice):
    job = make_job(state=JobState.RUNNING)
    same_job = Job.objects.get(pk=job.pk)
    move_job(job, JobState.SUCCEEDED, reason="done", actor="master role")

    with pytest.raises(CannotCancel):
        cancel_job(job=same_job, actor=Actor(alice), reason="")


def test_only_owner_and_operators_cancel(make_job, bob, olga):
    job = make_job(state=JobState.RUNNABLE)

    with pytest.raises(NotAllowed):
        cancel_job(job=job, actor=Actor(bob), reason="")
    cancel_job(job=job, actor=Actor(olga), reason="")


def test_a_reading_token_of_the_owner_cancels_nothing(make_job, alice):
    actor = Actor(alice, token_name="page", scope=Scope.READ)

    with pytest.raises(NotAllowed):
        cancel_job(job=make_job(state=JobState.RUNNABLE), actor=actor, reason="")


def test_the_token_that_cancelled_is_named(make_job, alice):
    job = make_job(state=JobState.RUNNABLE)

    cancel_job(job=job, actor=Actor(alice, token_name="nightly", scope=Scope.SUBMIT), reason="")

    assert job.state_reason == "cancelled by token nightly of alice"
