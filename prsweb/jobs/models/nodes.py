"""Nodes, and the pools and queues that lead jobs to them."""

from __future__ import annotations

from django.db import models

from runner.core.states import NodeState


class ComputeEnvironment(models.Model):
    """A pool of nodes."""

    name = models.CharField(max_length=128, unique=True)
    kind = models.CharField(max_length=16, default="EC2")
    enabled = models.BooleanField(default=True)
    instance_types = models.JSONField(default=list)
    max_vcpus = models.PositiveIntegerField(null=True)  # null: no limit
    max_nodes = models.PositiveIntegerField(null=True)  # null: the nodes joined
    single_location = models.BooleanField(default=False)


class JobQueue(models.Model):
    name = models.CharField(max_length=128, unique=True)
    priority = models.IntegerField(default=1)  # higher first
    enabled = models.BooleanField(default=True)
    environments = models.JSONField(default=list)  # names, tried in this order


class Node(models.Model):
    """One (simulated) machine. Written by the scheduler, from the nodes' beats."""

    name = models.CharField(max_length=128, unique=True)
    state = models.CharField(max_length=16, default=NodeState.ONLINE)
    boot_id = models.CharField(max_length=32)  # drawn at every start of its worker
    address = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    location = models.CharField(max_length=128)
    environment = models.CharField(max_length=128, null=True)  # null: every one
    instance_type = models.CharField(max_length=64, null=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField(default=0)
    version = models.CharField(max_length=32)
    simulated = models.BooleanField(default=True)
    joined_at = models.DateTimeField()
    up_since = models.DateTimeField()
    beat_at = models.DateTimeField()  # as of the scheduler's last look, server's clock
    # The job that holds the node. One job at a time: set only by a guarded
    # update that matches while it is null.
    job = models.ForeignKey(
        "jobs.Job", null=True, on_delete=models.SET_NULL, related_name="held_nodes"
    )


class OrchestratorLease(models.Model):
    """Which orchestrator does what only one may do (``scheduler``)."""

    name = models.CharField(max_length=32, unique=True)
    owner = models.CharField(max_length=64, blank=True)
    until = models.DateTimeField(null=True)
