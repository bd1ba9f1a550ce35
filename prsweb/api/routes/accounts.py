"""Tokens and sign-in links."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field, field_validator

from prsweb.accounts.models import Scope
from prsweb.accounts.selectors import visible_tokens
from prsweb.accounts.services import create_token, make_sign_in_link, revoke_token
from prsweb.api.access import caller
from prsweb.api.documents import (
    NewTokenDocument,
    SignInLinkDocument,
    TokenDocument,
    TokenPageDocument,
)
from prsweb.jobs.filters import Filter, make_cursor, read_cursor

tokens = Router(tags=["accounts"])
sign_in_links = Router(tags=["accounts"])


class NewToken(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field("API token", min_length=1, max_length=100)
    scope: Scope = Scope.SUBMIT
    days: int | None = Field(None, ge=1, le=3650, description="null: until revoked")

    @field_validator("name")
    @classmethod
    def _can_be_shown(cls, value: str) -> str:
        if not value.isprintable() or not value.strip():
            raise ValueError("must be text of one line")
        return value


@tokens.get("", response=TokenPageDocument, summary="List tokens")
def list_all(request: HttpRequest, wanted: Query[Filter]) -> dict[str, Any]:
    found = visible_tokens(caller(request))
    if wanted.after:
        found = found.filter(pk__lt=read_cursor(wanted.after, int)[0])
    rows = list(found[: wanted.limit + 1])
    page = rows[: wanted.limit]
    items = [
        TokenDocument(
            id=token.pk,
            name=token.name,
            scope=token.scope,
            owner=token.user.get_username(),
            created_at=token.created_at,
            expires_at=token.expires_at,
            last_used_at=token.last_used_at,
        )
        for token in page
    ]
    more = len(rows) > wanted.limit
    return {"items": items, "next": make_cursor(page[-1].pk) if more else None}


@tokens.post("", response={201: NewTokenDocument}, summary="Make a token of your own")
def create(request: HttpRequest, body: NewToken) -> tuple[int, NewTokenDocument]:
    actor = caller(request)
    new = create_token(
        user=actor.user, name=body.name, scope=body.scope, days=body.days, actor=actor
    )
    return 201, NewTokenDocument(
        id=new.token.pk,
        name=new.token.name,
        scope=new.token.scope,
        expires_at=new.token.expires_at,
        token=new.text,
    )


@tokens.delete("/{token_id}", response={204: None}, summary="Revoke a token")
def revoke(request: HttpRequest, token_id: int) -> tuple[int, None]:
    revoke_token(token_id=token_id, actor=caller(request))
    return 204, None


@sign_in_links.post(
    "", response={201: SignInLinkDocument}, summary="Make a one-time link to sign in with"
)
def create_link(request: HttpRequest) -> tuple[int, SignInLinkDocument]:
    """The link signs in whoever calls. It works once, within 10 minutes."""
    actor = caller(request)
    link = make_sign_in_link(user=actor.user, actor=actor)
    path = reverse("sign-in-link", args=[link.key])
    url = settings.PRSWEB_PUBLIC_URL.rstrip("/") + path
    return 201, SignInLinkDocument(url=url, expires_at=link.expires_at)
