"""Links that work once, tokens that reach no further than their owner."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.accounts.models import ApiToken, AuditEntry, Role, Scope, SignInLink, User
from prsweb.accounts.permissions import Actor, NotAllowed
from prsweb.accounts.services import (
    NoSuchToken,
    SignInLinkRefused,
    TokenRefused,
    create_token,
    ensure_local_admin,
    find_token,
    make_sign_in_link,
    revoke_token,
    use_sign_in_link,
)


@pytest.mark.django_db
def test_the_local_admin_is_made_once_and_has_no_password():
    first, second = ensure_local_admin(), ensure_local_admin()

    assert first == second
    assert first.role == Role.ADMIN
    assert not User.objects.get().has_usable_password()


def test_a_link_signs_in_once(alice):
    link = make_sign_in_link(user=alice)

    assert use_sign_in_link(link.key) == alice
    with pytest.raises(SignInLinkRefused):
        use_sign_in_link(link.key)


def test_a_link_is_over_after_ten_minutes(alice):
    link = make_sign_in_link(user=alice)
    SignInLink.objects.update(expires_at=timezone.now())

    with pytest.raises(SignInLinkRefused):
        use_sign_in_link(link.key)


def test_a_link_of_somebody_who_may_not_sign_in_any_more_is_refused(alice):
    link = make_sign_in_link(user=alice)
    User.objects.update(is_active=False)

    with pytest.raises(SignInLinkRefused):
        use_sign_in_link(link.key)


def test_only_an_admin_makes_a_link_for_somebody_else(alice, bob, ada):
    with pytest.raises(NotAllowed):
        make_sign_in_link(user=bob, actor=Actor(alice))

    assert make_sign_in_link(user=bob, actor=Actor(ada)).user == bob


def test_neither_keys_nor_tokens_are_kept_as_they_are(alice):
    link = make_sign_in_link(user=alice)
    token = create_token(user=alice, name="ci", scope=Scope.SUBMIT)

    assert link.key not in str(SignInLink.objects.values().get())
    assert token.text not in str(ApiToken.objects.values().get())


def test_a_token_is_found_until_it_is_revoked(alice):
    new = create_token(user=alice, name="ci", scope=Scope.SUBMIT)
    assert find_token(new.text).user == alice

    revoke_token(token_id=new.token.pk, actor=Actor(alice))

    with pytest.raises(TokenRefused):
        find_token(new.text)


def test_an_expired_token_is_refused(alice):
    new = create_token(user=alice, name="ci", scope=Scope.SUBMIT, days=1)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    with pytest.raises(TokenRefused):
        find_token(new.text)


def test_the_last_use_of_a_token_is_noted(alice):
    new = create_token(user=alice, name="ci", scope=Scope.READ)

    find_token(new.text)

    assert ApiToken.objects.get().last_used_at is not None


def test_a_scope_never_reaches_beyond_the_role(vera):
    with pytest.raises(NotAllowed):
        create_token(user=vera, name="ci", scope=Scope.SUBMIT)


def test_a_token_loses_what_its_owner_loses(alice):
    actor = Actor(alice, token_name="ci", scope=Scope.SUBMIT)
    assert actor.role is Role.SUBMITTER

    alice.role = Role.VIEWER

    assert actor.role is Role.VIEWER


def test_a_narrow_token_makes_no_wider_one(ada):
    reader = Actor(ada, token_name="page", scope=Scope.READ)

    with pytest.raises(NotAllowed):
        create_token(user=ada, name="x", scope=Scope.READ, actor=reader)
    with pytest.raises(NotAllowed):
        make_sign_in_link(user=ada, actor=reader)


def test_somebody_elses_token_does_not_exist_for_bob_and_can_be_ended_by_an_admin(
    alice, bob, ada
):
    new = create_token(user=alice, name="ci", scope=Scope.READ)

    with pytest.raises(NoSuchToken):
        revoke_token(token_id=new.token.pk, actor=Actor(bob))
    revoke_token(token_id=new.token.pk, actor=Actor(ada))

    assert ApiToken.objects.get().revoked_at


def test_each_action_leaves_an_entry_with_who_and_from_where(alice):
    link = make_sign_in_link(user=alice, actor=Actor(alice, address="127.0.0.9"))
    use_sign_in_link(link.key, address="127.0.0.8")

    entries = AuditEntry.objects.order_by("pk").values_list("action", "actor", "address")
    assert list(entries) == [
        ("make sign-in link", "alice", "127.0.0.9"),
        ("sign in by link", "alice", "127.0.0.8"),
    ]
