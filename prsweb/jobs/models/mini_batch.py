"""What each mini-batch did: a row when it has ended, and one per further try.

These tables hold a million rows a job. Their key is one number, job and index
packed together (see docs/decisions/0003), so that a row costs no second index;
they are written by the recorder's SQL only, never by ``save()``.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from runner.core.states import MiniBatchState

INDEX_BITS = 32
PROCESS_BITS = 16


def mini_batch_key(job_number: int, index: int) -> int:
    """Return the row's key: ``job number << 32 | index``."""
    return job_number << INDEX_BITS | index


def mini_batch_index(key: int) -> int:
    return key & (1 << INDEX_BITS) - 1


def process_key(node_index: int, process: int) -> int:
    """Return node index and process number as the one number that rows keep."""
    return node_index << PROCESS_BITS | process


def split_process_key(key: int) -> tuple[int, int]:
    """Return ``(node index, process number)``."""
    return key >> PROCESS_BITS, key & (1 << PROCESS_BITS) - 1


class MiniBatchQuerySet(models.QuerySet["MiniBatch"]):
    def of_job(self, job_number: int) -> MiniBatchQuerySet:
        return self.filter(
            key__gte=mini_batch_key(job_number, 0),
            key__lt=mini_batch_key(job_number + 1, 0),
        )


class MiniBatch(models.Model):
    """A mini-batch with its final outcome. Numbers as ``runner.harness.wire.RECORD``."""

    key = models.BigIntegerField(primary_key=True)
    state = models.PositiveSmallIntegerField()  # MiniBatchState: 3, 4 or 5
    items = models.PositiveIntegerField()
    succeeded = models.PositiveIntegerField()
    results = models.PositiveIntegerField()  # returned by run(); may exceed items
    tries = models.PositiveIntegerField()  # number of the try that decided
    status = models.PositiveSmallIntegerField()  # wire status of that try
    process = models.BigIntegerField()  # process_key()
    offset = models.BigIntegerField()  # bytes in the process's segment
    length = models.BigIntegerField()
    started_us = models.BigIntegerField()  # us since 1970 UTC
    wait_us = models.BigIntegerField()
    load_us = models.BigIntegerField()
    run_us = models.BigIntegerField()
    total_us = models.BigIntegerField()  # pick to written

    objects = MiniBatchQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [
            # Only what went wrong: costs nothing while all goes well.
            models.Index(
                fields=["state", "key"],
                name="mini_batch_not_succeeded",
                condition=~models.Q(state=MiniBatchState.SUCCEEDED),
            )
        ]


class MiniBatchTry(models.Model):
    """A try that did not decide its mini-batch, or that failed: every try but
    a success at the first go, which the MiniBatch row tells whole."""

    mini_batch = models.BigIntegerField()  # MiniBatch.key; that row may not exist yet
    number = models.PositiveIntegerField()  # from 1
    status = models.PositiveSmallIntegerField()
    process = models.BigIntegerField()
    items = models.PositiveIntegerField()
    started_us = models.BigIntegerField()
    wait_us = models.BigIntegerField()
    load_us = models.BigIntegerField()
    run_us = models.BigIntegerField()
    total_us = models.BigIntegerField()
    error_group = models.ForeignKey(
        "jobs.ErrorGroup", null=True, on_delete=models.SET_NULL, related_name="tries"
    )
    error = models.TextField(blank=True)  # one line

    class Meta:
        constraints: ClassVar = [
            # A try is counted once, however often it is reported.
            models.UniqueConstraint(
                fields=["mini_batch", "number"], name="mini_batch_try_number"
            )
        ]
