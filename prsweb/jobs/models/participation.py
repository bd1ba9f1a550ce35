"""A node's and a worker process's part in a job."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from runner.core.states import JobNodeState


class JobNode(models.Model):
    """One assignment: a node granted to an attempt of a job.

    A node that is lost and comes back is granted anew: another row, another
    assignment, the same index.
    """

    job = models.ForeignKey("jobs.Job", on_delete=models.CASCADE, related_name="job_nodes")
    attempt = models.PositiveIntegerField(default=1)
    assignment = models.PositiveIntegerField()  # from 1, unique within the job
    index = models.PositiveIntegerField()  # within the job, first node granted = 0
    node_name = models.CharField(max_length=128)  # outlives the node's own row
    boot_id = models.CharField(max_length=32)
    address = models.CharField(max_length=64)
    is_main = models.BooleanField(default=False)
    state = models.CharField(max_length=16, default=JobNodeState.STARTING)
    state_reason = models.TextField(blank=True)
    process_count = models.PositiveIntegerField(default=1)
    first_process = models.PositiveIntegerField(default=0)
    granted_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)  # the node is free again
    exit_code = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "assignment"], name="job_node_assignment")
        ]


class JobProcess(models.Model):
    """A worker process of a ParallelRunStep job."""

    job = models.ForeignKey("jobs.Job", on_delete=models.CASCADE, related_name="processes")
    assignment = models.PositiveIntegerField()
    node_index = models.PositiveIntegerField()
    node_name = models.CharField(max_length=128)
    number = models.PositiveIntegerField()  # on its node, never used twice
    pid = models.PositiveIntegerField()
    segment = models.CharField(max_length=255)  # file name below segments/
    gpu = models.PositiveIntegerField(null=True)
    started_at = models.DateTimeField()
    ready_at = models.DateTimeField(null=True)  # init() had returned
    ended_at = models.DateTimeField(null=True)
    end = models.CharField(max_length=200, blank=True)  # in words
    expected_end = models.BooleanField(default=False)
    peak_rss_bytes = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["job", "node_index", "number"], name="job_process_number"
            )
        ]
