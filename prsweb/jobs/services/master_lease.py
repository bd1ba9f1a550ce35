"""The right to lead a job: one master at a time, for a while, renewed while it lives."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import F, Q
from django.utils import timezone

from prsweb.jobs.models import Job
from prsweb.jobs.services.lease_owner import draw_owner, is_gone
from runner.core.states import ACTIVE_STATES

LEASE_SECONDS = 15  # renewed while the master lives


class MasterLeaseRefused(Exception):
    """Another master leads the job, or the job needs none."""


class MasterLeaseLost(Exception):
    """Another master took over, or the job has ended: stop writing at once."""


def take_master_lease(number: int) -> tuple[Job, str]:
    """Become the master of job ``number``; return it and the owner's name.

    The owner is drawn here, not the task's id, which a redelivery shares.
    Raises MasterLeaseRefused while another master's lease has not run out, and
    for a job that is neither STARTING nor RUNNING.
    """
    now = timezone.now()
    owner = draw_owner()
    wanted = Job.objects.filter(pk=number, state__in=ACTIVE_STATES)
    lease = {"master_owner": owner, "master_lease_until": _lease_end()}

    taken = wanted.filter(master_owner=None).update(**lease)
    if not taken:
        lapsed = Q(master_lease_until=None) | Q(master_lease_until__lt=now)
        taken = wanted.filter(lapsed).update(take_overs=F("take_overs") + 1, **lease)
    if taken != 1:
        raise MasterLeaseRefused("it is led elsewhere, or is neither starting nor running")
    return Job.objects.get(pk=number), owner


def renew_master_lease(job: Job, owner: str) -> None:
    """Lead ``job`` for another 15 s, or raise MasterLeaseLost.

    A lease that has run out may still be renewed as long as nobody took it.
    """
    until = _lease_end()
    led = Job.objects.filter(pk=job.pk, master_owner=owner, state__in=ACTIVE_STATES)
    if led.update(master_lease_until=until) != 1:
        raise MasterLeaseLost(f"job {job.pk} is led by another master, or has ended")
    job.master_lease_until = until


def release_master_lease(job: Job, owner: str) -> None:
    """Let another master lead at once. Does nothing if the lease is gone already."""
    Job.objects.filter(pk=job.pk, master_owner=owner).update(
        master_owner=None, master_lease_until=None
    )


def end_lease_of_the_dead(job: Job) -> bool:
    """Let the lease of ``job`` run out now if its owner's process has ended on this
    machine. Returns whether it did; another machine's owner is left its 15 s."""
    if not is_gone(job.master_owner):
        return False
    led = Job.objects.filter(pk=job.pk, master_owner=job.master_owner)
    return led.update(master_lease_until=timezone.now() - timedelta(seconds=1)) == 1


def _lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=LEASE_SECONDS)
