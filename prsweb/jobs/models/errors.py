"""Errors of a job, grouped by cause."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ErrorGroup(models.Model):
    job = models.ForeignKey("jobs.Job", on_delete=models.CASCADE, related_name="error_groups")
    fingerprint = models.CharField(max_length=64)  # "v1:5d0e77ab", "signal:11"
    kind = models.CharField(max_length=32)  # exception, timeout, oom, signal, exit, …
    title = models.TextField()
    pattern = models.TextField(blank=True)  # message with numbers, names, paths as tokens
    place = models.CharField(max_length=400, blank=True)  # "score.py:42"
    count = models.BigIntegerField(default=0)  # tries
    mini_batch_count = models.BigIntegerField(default=0)
    nodes = models.JSONField(default=list)  # names
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    traceback = models.TextField(blank=True)  # the first one, whole
    first_mini_batch = models.BigIntegerField(null=True)  # index; null: in init()
    first_try = models.PositiveIntegerField(null=True)
    first_process = models.BigIntegerField(null=True)  # process_key()
    sample_mini_batches = models.JSONField(default=list)  # up to 10 indexes

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["job", "fingerprint"], name="error_group_fingerprint"
            )
        ]
