"""People, their tokens and one-time links, and the audit of what they did."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models


class Role(models.TextChoices):
    VIEWER = "viewer"  # reads
    SUBMITTER = "submitter"  # own jobs
    OPERATOR = "operator"  # all jobs, nodes, queues
    ADMIN = "admin"  # users, tokens, settings


class Scope(models.TextChoices):
    """What a token may do; never more than its owner's role."""

    READ = "read"
    SUBMIT = "submit"
    OPERATE = "operate"
    ADMIN = "admin"


class User(AbstractUser):
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)


class SignInLink(models.Model):
    """A link that signs its user in once, within 10 minutes."""

    user = models.ForeignKey(User, on_delete=models.CASCADE)
    key_hash = models.CharField(max_length=64, unique=True)  # SHA-256, hex
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class ApiToken(models.Model):
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=16, choices=Scope.choices)
    token_hash = models.CharField(max_length=64, unique=True)  # SHA-256, hex
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)  # null: until revoked
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class AuditEntry(models.Model):
    """One action: who, from where, what, on what. Append-only."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=150)  # user name, or "system"
    token_name = models.CharField(max_length=100, blank=True)
    address = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=64)  # "submit job"
    target = models.CharField(max_length=200)  # exact ids or a count
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-at", "-pk"]
