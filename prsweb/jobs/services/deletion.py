"""Removing an ended job: its rows and its folder together."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import redis
from django.conf import settings
from django.db import transaction

from prsweb.accounts.audit import audit
from prsweb.accounts.permissions import Actor, require_owner_or_operator
from prsweb.jobs.models import Job, MiniBatch, MiniBatchTry, Sample
from prsweb.jobs.models.mini_batch import mini_batch_key
from prsweb.jobs.selectors.live import redis_client
from runner.core.redis_keys import JobKeys
from runner.core.states import TERMINAL_STATES, JobState

logger = logging.getLogger(__name__)

# Keys removed in one transaction: a few milliseconds, so that nobody waits for it.
CHUNK_KEYS = 20_000
REMOVED_PREFIX = ".removed-"


class CannotDelete(Exception):
    """The job has not ended. Fit to show."""


def delete_job(*, job: Job, actor: Actor) -> None:
    """Remove the job. Output that it wrote outside its own folder stays.

    Its folder goes first, by a rename: whatever happens afterwards, calling
    this again ends what was begun. Raises CannotDelete and NotAllowed.
    """
    require_owner_or_operator(actor, job.owner_id, "delete this job")
    job.refresh_from_db(fields=["state"])
    if JobState(job.state) not in TERMINAL_STATES:
        raise CannotDelete(f'Job "{job.name}" is {job.state}. Cancel it or wait for it to end.')
    folder = settings.PRSWEB_HOME.job(job.job_id).root
    removed = folder.with_name(REMOVED_PREFIX + folder.name)
    if folder.exists():
        folder.rename(removed)
    _delete_mini_batches(job)
    with transaction.atomic():
        audit(actor, "delete job", job.job_id, before={"name": job.name, "state": job.state})
        job_id = job.job_id
        Job.objects.filter(pk=job.pk).delete()
    _forget_in_redis(job_id)
    _remove_files(removed)


def _delete_mini_batches(job: Job) -> None:
    """A million rows in steps, each a short transaction."""
    first, end = mini_batch_key(job.pk, 0), mini_batch_key(job.pk + 1, 0)
    last = MiniBatch.objects.of_job(job.pk).order_by("-key").values_list("key", flat=True)
    top = last.first()
    for low in range(first, (first if top is None else top + 1), CHUNK_KEYS):
        MiniBatch.objects.filter(key__gte=low, key__lt=min(end, low + CHUNK_KEYS)).delete()
    MiniBatchTry.objects.filter(mini_batch__gte=first, mini_batch__lt=end).delete()
    while ids := list(
        Sample.objects.filter(job_id=job.pk).values_list("pk", flat=True)[:CHUNK_KEYS]
    ):
        Sample.objects.filter(job_id=job.pk, pk__lte=ids[-1]).delete()


def _forget_in_redis(job_id: str) -> None:
    try:
        redis_client().delete(*JobKeys(job_id).everything_fixed())
    except redis.RedisError as error:
        logger.warning("job %s: keys not removed, Redis is away: %s", job_id, error)


def _remove_files(removed: Path) -> None:
    try:
        shutil.rmtree(removed)
    except FileNotFoundError:
        return
    except OSError as error:
        logger.warning("%s not removed whole: %s", removed, error)
