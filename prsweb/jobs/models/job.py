"""A job: one submission, its specification and its final outcome."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models

from runner.core.states import JobState


class Job(models.Model):
    """The counters are written by the recorder, in the transaction that writes
    the rows they count; pages read them and never count."""

    number = models.BigAutoField(primary_key=True)  # inside only: keys, tasks, logs
    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)  # "job id"
    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=24)
    state = models.CharField(max_length=16, default=JobState.SUBMITTED)
    state_reason = models.TextField()  # never empty while it waits or ended badly
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs"
    )
    private = models.BooleanField(default=False)
    queue = models.ForeignKey("jobs.JobQueue", on_delete=models.PROTECT)
    tags = models.JSONField(default=dict)
    spec = models.JSONField()  # frozen, complete, secrets as references
    given_keys = models.JSONField(default=list)  # paths set by the submitter, not defaults
    changes = models.JSONField(default=list)  # of a resubmission: path, old, new
    warnings = models.JSONField(default=list)  # sentences
    version = models.CharField(max_length=32)  # of prsweb, at submission
    idempotency_key = models.CharField(max_length=200, null=True)
    request_digest = models.CharField(max_length=64, blank=True)  # of what the key stood for

    submitted_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)  # RUNNING for the first time
    running_at = models.DateTimeField(null=True)  # RUNNING, newest attempt
    ended_at = models.DateTimeField(null=True)

    node_count = models.PositiveIntegerField(default=1)  # asked for
    main_node = models.PositiveIntegerField(null=True)  # index, multi-node only
    attempt = models.PositiveIntegerField(default=0)  # the present one, from 1
    attempt_limit = models.PositiveIntegerField(default=1)
    next_assignment = models.PositiveIntegerField(default=1)

    # how it ended
    cause = models.CharField(max_length=200, null=True)  # "error_threshold / run_exception"
    decided_by = models.CharField(max_length=200, null=True)
    status_reason = models.TextField(null=True)
    exit_code = models.IntegerField(null=True)
    outcome_facts = models.JSONField(default=dict)  # numbers for the headline

    cancel_requested_at = models.DateTimeField(null=True)
    cancel_requested_by = models.CharField(max_length=200, null=True)
    cancel_reason = models.TextField(null=True)

    # progress of a ParallelRunStep job
    is_listing = models.BooleanField(default=False)
    mini_batches_created = models.BigIntegerField(default=0)
    items_created = models.BigIntegerField(default=0)
    running_count = models.BigIntegerField(default=0)
    retrying_count = models.BigIntegerField(default=0)
    succeeded_count = models.BigIntegerField(default=0)
    partial_count = models.BigIntegerField(default=0)
    failed_count = models.BigIntegerField(default=0)
    taken_over_count = models.BigIntegerField(default=0)
    succeeded_items = models.BigIntegerField(default=0)
    failed_items = models.BigIntegerField(default=0)
    repeated_tries = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0)
    result_count = models.BigIntegerField(default=0)  # results returned, all mini-batches
    remaining_seconds = models.FloatField(null=True)
    remaining_seconds_low = models.FloatField(null=True)
    remaining_seconds_high = models.FloatField(null=True)
    progress_at = models.DateTimeField(null=True)
    error_group_count = models.PositiveIntegerField(default=0)
    phase = models.CharField(max_length=16, blank=True)  # listing, running, assembling

    output_path = models.TextField(null=True)  # absolute, once in place
    output_rows = models.BigIntegerField(null=True)
    output_bytes = models.BigIntegerField(null=True)
    output_sha256 = models.CharField(max_length=64, null=True)

    # The master lease: who leads, until when. In every guarded write of a master.
    master_owner = models.CharField(max_length=64, null=True)
    master_lease_until = models.DateTimeField(null=True)
    take_overs = models.PositiveIntegerField(default=0)

    resubmitted_from = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="resubmissions"
    )
    reused_from = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="reuses"
    )

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["-submitted_at", "-number"], name="job_newest"),
            models.Index(fields=["owner", "-submitted_at"], name="job_owner_newest"),
            models.Index(fields=["state", "-submitted_at"], name="job_state_newest"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "idempotency_key"], name="job_idempotency_key"
            )
        ]

    def __str__(self) -> str:
        return f"job {self.number} {self.name}"

    @property
    def job_id(self) -> str:
        """The id as everybody outside sees it."""
        return str(self.uuid)


class JobEvent(models.Model):
    """One thing that happened to a job; the moves of its state among them."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=32)  # "state", "node_joined", "cancel_ordered", …
    from_state = models.CharField(max_length=16, blank=True)
    to_state = models.CharField(max_length=16, blank=True)
    actor = models.CharField(max_length=200)  # user name, "scheduler", "master role"
    reason = models.TextField()


class Attempt(models.Model):
    """One run of the whole job."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()  # from 1
    granted_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "number"], name="attempt_number")
        ]


class JobMetric(models.Model):
    """A value that the script logged."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="metrics")
    at = models.DateTimeField()
    name = models.CharField(max_length=200)
    value = models.JSONField()
