"""Who acts, and what a role, a token's scope and ownership let them do.

Services ask here; templates and views only show what the answer was.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

from prsweb.accounts.models import Role, Scope, User

# Each role may do what those before it may; a scope reaches as far as the role beside it.
ROLES = (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR, Role.ADMIN)
SCOPES = (Scope.READ, Scope.SUBMIT, Scope.OPERATE, Scope.ADMIN)


class NotAllowed(Exception):
    """The role, the token's scope or the ownership does not reach. Fit to show."""


@dataclass(frozen=True)
class Actor:
    """A person, and the way in: a session or a token, from an address."""

    user: User
    address: str = ""
    token_name: str = ""  # empty: a session or a command on the server
    scope: Scope | None = None  # of the token

    @property
    def name(self) -> str:
        return self.user.get_username()

    @property
    def words(self) -> str:
        """As a sentence names who did it: ``maria``, ``token nightly of maria``."""
        if self.token_name:
            return f"token {self.token_name} of {self.name}"
        return self.name

    @property
    def role(self) -> Role:
        """The lesser of the person's role and what the token's scope reaches."""
        own = ROLES.index(Role(self.user.role))
        if self.scope is None:
            return ROLES[own]
        return ROLES[min(own, SCOPES.index(Scope(self.scope)))]

    @property
    def is_restricted(self) -> bool:
        """The token may do less than its owner."""
        return self.role != Role(self.user.role)

    def reaches(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


def actor_of(request: HttpRequest) -> Actor:
    """Return who sits in front of the page that sent ``request``."""
    assert isinstance(request.user, User)
    return Actor(request.user, address=request.META.get("REMOTE_ADDR", ""))


def require_role(actor: Actor, role: Role, action: str) -> None:
    """Raise NotAllowed unless ``actor`` has ``role`` or more."""
    if not actor.reaches(role):
        raise NotAllowed(f"To {action} takes the role {role.value}; {_has(actor)}.")


def require_owner_or_operator(actor: Actor, owner_id: int, action: str) -> None:
    """Raise NotAllowed unless ``actor`` owns the thing and submits, or operates."""
    if actor.reaches(Role.OPERATOR):
        return
    if actor.user.pk != owner_id:
        raise NotAllowed(f"To {action} takes its owner or the role operator; {_has(actor)}.")
    require_role(actor, Role.SUBMITTER, action)


def may_act(actor: Actor, owner_id: int) -> bool:
    """Whether ``require_owner_or_operator`` would let it pass."""
    try:
        require_owner_or_operator(actor, owner_id, "")
    except NotAllowed:
        return False
    return True


def _has(actor: Actor) -> str:
    if actor.is_restricted:
        return f"token {actor.token_name} has the scope {Scope(str(actor.scope)).value}"
    return f"{actor.name} has the role {actor.role.value}"
