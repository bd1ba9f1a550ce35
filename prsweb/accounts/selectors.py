"""Reading accounts."""

from __future__ import annotations

from django.db.models import QuerySet

from prsweb.accounts.models import ApiToken, Role
from prsweb.accounts.permissions import Actor


def visible_tokens(actor: Actor) -> QuerySet[ApiToken]:
    """Tokens that still exist, newest first: one's own; an admin sees everybody's."""
    tokens = ApiToken.objects.filter(revoked_at=None).select_related("user").order_by("-pk")
    if actor.reaches(Role.ADMIN):
        return tokens
    return tokens.filter(user=actor.user)
