"""The pages of signing in and out."""

from __future__ import annotations

import pytest

from prsweb.accounts.services import make_sign_in_link

pytestmark = pytest.mark.django_db


def signed_in(client) -> bool:
    return "_auth_user_id" in client.session


def test_a_link_leads_to_a_session_and_then_to_a_page_that_refuses(client, alice):
    link = make_sign_in_link(user=alice)

    answer = client.get(f"/sign-in/link/{link.key}/")

    assert answer.status_code == 302
    assert answer.url == "/"
    assert signed_in(client)


def test_an_unknown_link_says_so_and_signs_nobody_in(client):
    answer = client.get("/sign-in/link/nothing/")

    assert answer.status_code == 403
    assert "./prs sign-in" in answer.text
    assert not signed_in(client)


def test_a_password_signs_in_and_leads_to_the_page_that_was_asked_for(client, alice):
    alice.set_password("correct horse")
    alice.save()

    answer = client.post(
        "/sign-in/", {"username": "alice", "password": "correct horse", "next": "/jobs/?q=x"}
    )

    assert answer.status_code == 302
    assert answer.url == "/jobs/?q=x"


@pytest.mark.parametrize("goal", ["https://evil.test/", "//evil.test/", "javascript:x"])
def test_signing_in_never_leads_to_another_server(client, alice, goal):
    client.force_login(alice)

    assert client.get("/sign-in/", {"next": goal}).url == "/"


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(client, alice):
    alice.set_password("right")
    alice.save()

    wrong = client.post("/sign-in/", {"username": "alice", "password": "x"})
    unknown = client.post("/sign-in/", {"username": "nobody", "password": "x"})

    assert wrong.status_code == unknown.status_code == 422
    assert "do not fit together" in wrong.text
    assert "do not fit together" in unknown.text
    assert not signed_in(client)


def test_the_sixth_guess_is_locked_out_even_with_the_right_password(client, alice):
    alice.set_password("right")
    alice.save()
    for _ in range(5):
        client.post("/sign-in/", {"username": "alice", "password": "x"})

    answer = client.post("/sign-in/", {"username": "alice", "password": "right"})

    assert answer.status_code == 429
    assert not signed_in(client)


def test_signing_out_takes_a_post(client, alice):
    client.force_login(alice)

    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/").status_code == 302
    assert not signed_in(client)
