"""Readings of the resources of nodes and processes."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Sample(models.Model):
    """One reading; what could not be had is null, never 0."""

    job = models.ForeignKey("jobs.Job", on_delete=models.CASCADE, related_name="samples")
    at_ms = models.BigIntegerField()  # since 1970 UTC
    node_index = models.PositiveIntegerField()
    process = models.PositiveIntegerField(null=True)  # number; null: the node itself
    cpu_percent = models.FloatField(null=True)  # of one CPU, children added
    rss_bytes = models.BigIntegerField(null=True)
    own_bytes = models.BigIntegerField(null=True)  # freed when the process ends (USS)
    thread_count = models.PositiveIntegerField(null=True)
    read_bytes = models.BigIntegerField(null=True)  # since start
    written_bytes = models.BigIntegerField(null=True)
    sent_bytes = models.BigIntegerField(null=True)
    received_bytes = models.BigIntegerField(null=True)
    open_file_count = models.PositiveIntegerField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["job", "at_ms"], name="sample_time")]
