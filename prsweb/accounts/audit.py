"""The record of who did what. Rows are added, never changed."""

from __future__ import annotations

from typing import Any

from prsweb.accounts.models import AuditEntry
from prsweb.accounts.permissions import Actor

SYSTEM = "system"


def audit(
    actor: Actor | None,
    action: str,
    target: str,
    *,
    before: Any = None,
    after: Any = None,
    note: str = "",
) -> None:
    """Add an entry, inside the transaction of what it tells. No actor: the system."""
    AuditEntry.objects.create(
        actor=actor.name if actor else SYSTEM,
        token_name=actor.token_name if actor else "",
        address=actor.address if actor else "",
        action=action,
        target=target,
        before=before,
        after=after,
        note=note,
    )
