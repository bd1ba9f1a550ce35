"""Accounts, one-time sign-in links and API tokens."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from prsweb.accounts.audit import audit
from prsweb.accounts.models import ApiToken, Role, Scope, SignInLink, User
from prsweb.accounts.permissions import ROLES, SCOPES, Actor, NotAllowed, require_role

LINK_LIFETIME = timedelta(minutes=10)
LOCAL_ADMIN = "admin"
TOKEN_PREFIX = "prs_"  # lets a secret scanner know ours
# A token's last use is written at most this often: reading must not mean writing.
LAST_USE_STEP = timedelta(minutes=1)


class SignInLinkRefused(Exception):
    """The link is unknown, used or too old. Which of them is not said."""


class TokenRefused(Exception):
    """The token is unknown, revoked or expired, or its owner may not sign in."""


class NoSuchToken(Exception):
    """The caller has no token with that id."""


@dataclass(frozen=True)
class NewLink:
    user: User
    key: str  # goes into /sign-in/link/KEY/, is kept nowhere
    expires_at: datetime


@dataclass(frozen=True)
class NewToken:
    token: ApiToken
    text: str  # shown once, kept nowhere


def ensure_local_admin(name: str = LOCAL_ADMIN) -> User:
    """Return the administrator of a server that somebody starts for themselves.

    Makes the account at the first start, without a password: it signs in by
    one-time link. Safe to call at every start.
    """
    user, is_new = User.objects.get_or_create(username=name, defaults={"role": Role.ADMIN})
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        audit(None, "add user", name, after={"role": Role.ADMIN.value})
    return user


def make_sign_in_link(*, user: User, actor: Actor | None = None) -> NewLink:
    """Return a link that signs ``user`` in once, within 10 minutes.

    ``actor`` None: the server itself, when it starts. Somebody else's link
    takes the role admin; a token that may do less than its owner makes none.
    """
    if actor is not None:
        if user.pk != actor.user.pk:
            require_role(actor, Role.ADMIN, "make a sign-in link for somebody else")
        if actor.is_restricted:
            raise NotAllowed(
                f"Token {actor.token_name} may do less than its owner, so it makes "
                "no sign-in link."
            )
    key = secrets.token_urlsafe(32)
    expires_at = timezone.now() + LINK_LIFETIME
    with transaction.atomic():
        SignInLink.objects.create(user=user, key_hash=_hash(key), expires_at=expires_at)
        audit(actor, "make sign-in link", user.get_username())
    return NewLink(user, key, expires_at)


@transaction.atomic
def use_sign_in_link(key: str, *, address: str = "") -> User:
    """Return the user that ``key`` signs in, and end the link.

    One guarded update: of two clicks at once exactly one gets in.
    Raises SignInLinkRefused.
    """
    now = timezone.now()
    link = SignInLink.objects.filter(
        key_hash=_hash(key), used_at=None, expires_at__gt=now, user__is_active=True
    )
    if link.update(used_at=now) != 1:
        raise SignInLinkRefused(
            "This link was used already, or is older than 10 minutes. "
            "Make another one with ./prs sign-in."
        )
    user = SignInLink.objects.select_related("user").get(key_hash=_hash(key)).user
    audit(Actor(user, address=address), "sign in by link", user.get_username())
    return user


def create_token(
    *,
    user: User,
    name: str,
    scope: Scope,
    days: int | None = None,
    actor: Actor | None = None,
) -> NewToken:
    """Return a new token of ``user``; ``days`` None: it lasts until it is revoked.

    Raises NotAllowed when the scope reaches beyond the owner's role, or the
    actor's own token is narrower than its owner.
    """
    if ROLES.index(Role(user.role)) < SCOPES.index(scope):
        raise NotAllowed(
            f"The scope {scope.value} reaches beyond the role {user.role} of "
            f"{user.get_username()}."
        )
    if actor is not None:
        _require_token_rights(actor, user)
    text = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires_at = None if days is None else timezone.now() + timedelta(days=days)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user, name=name, scope=scope, token_hash=_hash(text), expires_at=expires_at
        )
        audit(
            actor,
            "create token",
            f"token {token.pk}",
            after={"name": name, "scope": scope.value, "owner": user.get_username()},
        )
    return NewToken(token, text)


def find_token(text: str) -> ApiToken:
    """Return the token with its user, and note its use. Raises TokenRefused."""
    token = (
        ApiToken.objects.select_related("user")
        .filter(token_hash=_hash(text), revoked_at=None, user__is_active=True)
        .first()
    )
    now = timezone.now()
    if token is None or (token.expires_at is not None and token.expires_at <= now):
        raise TokenRefused("The token is unknown, revoked or expired.")
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - LAST_USE_STEP)
    if token.last_used_at is None or token.last_used_at < now - LAST_USE_STEP:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


@transaction.atomic
def revoke_token(*, token_id: int, actor: Actor) -> None:
    """End a token of the actor; an admin ends anybody's. Raises NoSuchToken."""
    tokens = ApiToken.objects.filter(pk=token_id, revoked_at=None)
    if not actor.reaches(Role.ADMIN):
        tokens = tokens.filter(user=actor.user)
    token = tokens.select_related("user").first()
    if token is None:
        raise NoSuchToken(f"There is no token {token_id}.")
    _require_token_rights(actor, token.user)
    if tokens.update(revoked_at=timezone.now()) != 1:
        raise NoSuchToken(f"There is no token {token_id}.")
    audit(actor, "revoke token", f"token {token_id}", before={"name": token.name})


def _require_token_rights(actor: Actor, owner: User) -> None:
    if actor.is_restricted:
        raise NotAllowed(
            f"Token {actor.token_name} may do less than its owner, so it manages no tokens."
        )
    if owner.pk != actor.user.pk:
        require_role(actor, Role.ADMIN, "manage somebody else's tokens")


def _hash(secret: str) -> str:
    """Plain SHA-256 is enough: the secrets are 256 random bits, not words."""
    return hashlib.sha256(secret.encode()).hexdigest()
