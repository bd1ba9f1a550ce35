"""Every operation x role x ownership. An operation without a row here fails the last test."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.accounts.models import Scope
from prsweb.api.api import api
from prsweb.jobs.models import Node
from runner.core.states import JobState

READ = {"vera": 200, "bob": 200, "alice": 200, "olga": 200, "ada": 200}
# Acting on a job of alice: the owner, operators and admins.
ACT = {"vera": 403, "bob": 403, "alice": 200, "olga": 200, "ada": 200}
OPERATE = {"vera": 403, "bob": 403, "alice": 403, "olga": 200, "ada": 200}
SUBMIT = {"vera": 403, "bob": 422, "alice": 422, "olga": 422, "ada": 422}
OWN = dict.fromkeys(READ, 201)

OPERATIONS = {
    ("GET", "/jobs"): READ,
    ("POST", "/jobs"): SUBMIT,  # an empty spec: who may submit is told what is wrong
    ("POST", "/jobs/check"): SUBMIT | dict.fromkeys(("bob", "alice", "olga", "ada"), 200),
    ("GET", "/jobs/{job_id}"): READ,
    ("DELETE", "/jobs/{job_id}"): {**ACT, "alice": 204, "olga": 204, "ada": 204},
    ("POST", "/jobs/{job_id}/cancel"): {**ACT, "alice": 409, "olga": 409, "ada": 409},
    ("POST", "/jobs/{job_id}/resubmit"): {**ACT, "alice": 422, "olga": 422, "ada": 422},
    ("GET", "/jobs/{job_id}/mini-batches"): READ,
    ("GET", "/jobs/{job_id}/mini-batches/{index}"): dict.fromkeys(READ, 404),
    ("GET", "/jobs/{job_id}/nodes"): READ,
    ("GET", "/jobs/{job_id}/processes"): READ,
    ("GET", "/jobs/{job_id}/events"): READ,
    ("GET", "/jobs/{job_id}/errors"): READ,
    ("GET", "/jobs/{job_id}/errors/{fingerprint}"): dict.fromkeys(READ, 404),
    ("GET", "/jobs/{job_id}/samples"): READ,
    ("GET", "/jobs/{job_id}/logs"): READ,
    ("GET", "/jobs/{job_id}/logs/range"): READ,
    ("GET", "/jobs/{job_id}/logs/raw"): READ,
    ("GET", "/jobs/{job_id}/logs/search"): READ,
    ("GET", "/jobs/{job_id}/outputs"): READ,
    ("GET", "/jobs/{job_id}/outputs/raw"): READ,
    ("GET", "/nodes"): READ,
    ("GET", "/nodes/{name}"): READ,
    ("POST", "/nodes/{name}/drain"): OPERATE,
    ("POST", "/nodes/{name}/undrain"): {**OPERATE, "olga": 409, "ada": 409},
    ("GET", "/tokens"): READ,
    ("POST", "/tokens"): {**OWN, "vera": 403},  # the default scope, submit
    ("DELETE", "/tokens/{token_id}"): dict.fromkeys(READ, 404),
    ("POST", "/sign-in-links"): OWN,
}
QUERY = "?path=log.txt&q=x"
PEOPLE = ("vera", "bob", "alice", "olga", "ada")


@pytest.fixture
def person(request, alice, bob, vera, olga, ada):
    people = (alice, bob, vera, olga, ada)
    return next(one for one in people if one.username == request.param)


def path_of(template, job):
    path = template.format(
        job_id=job.job_id, index=0, fingerprint="v1:0", name="n1", token_id=0
    )
    return path + (QUERY if template.endswith(("range", "raw", "search")) else "")


def make_node():
    now = timezone.now()
    return Node.objects.create(
        name="n1",
        boot_id="b",
        address="127.0.1.1",
        host="here",
        location="here",
        vcpus=1,
        memory_mib=1024,
        version="0.1.0",
        joined_at=now,
        up_since=now,
        beat_at=now,
    )


def body_of(method, template):
    if method != "POST":
        return None
    if template in ("/jobs", "/jobs/check"):
        return {"spec": {}}
    # A resubmission that would be made is too much here; a wrong value is enough.
    return {"set": {"nonsense": 1}} if template.endswith("resubmit") else {}


def write_files(home, job):
    (home.job(job.job_id).logs / "log.txt").write_text("x\n")
    (home.job(job.job_id).output / "log.txt").write_text("x\n")


@pytest.mark.parametrize("person", PEOPLE, indirect=True)
@pytest.mark.parametrize(("method", "template"), OPERATIONS)
def test_who_may_do_what_with_a_job_of_alice_that_is_not_private(
    as_user, person, make_job, home, method, template
):
    job = make_job(state=JobState.FAILED)
    write_files(home, job)
    make_node()

    answer = as_user(person).call(method, path_of(template, job), body_of(method, template))

    expected = OPERATIONS[method, template][person.username]
    assert answer.status_code == expected, getattr(answer, "text", "")


@pytest.mark.parametrize("person", ["vera", "bob"], indirect=True)
@pytest.mark.parametrize(
    ("method", "template"),
    [key for key in OPERATIONS if "{job_id}" in key[1]],
)
def test_a_private_job_of_alice_is_not_there_for_others(
    as_user, person, make_job, home, method, template
):
    job = make_job(state=JobState.FAILED, private=True)
    write_files(home, job)

    answer = as_user(person).call(method, path_of(template, job), body_of(method, template))

    assert answer.status_code == 404
    assert job.name not in answer.text


def test_a_private_job_is_in_the_lists_of_its_owner_and_operators_only(
    as_user, make_job, alice, bob, vera, olga, ada
):
    make_job(private=True)

    seen = {
        user.username: len(as_user(user).get("/jobs").json()["items"])
        for user in (alice, bob, vera, olga, ada)
    }

    assert seen == {"alice": 1, "bob": 0, "vera": 0, "olga": 1, "ada": 1}


@pytest.mark.parametrize(("method", "template"), OPERATIONS)
def test_nobody_gets_in_without_a_token(nobody, make_job, method, template):
    answer = nobody.call(method, path_of(template, make_job()), body_of(method, template))

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "sign_in"


@pytest.mark.parametrize(("method", "template"), [key for key in OPERATIONS if key[0] != "GET"])
def test_a_reading_token_of_an_admin_changes_nothing(as_user, ada, make_job, method, template):
    job = make_job(state=JobState.FAILED)
    make_node()

    answer = as_user(ada, Scope.READ).call(
        method, path_of(template, job), body_of(method, template)
    )

    is_unknown_token = template == "/tokens/{token_id}"
    assert answer.status_code == (404 if is_unknown_token else 403)


def test_a_session_is_no_way_into_the_api(client, alice, no_redis):
    client.force_login(alice)

    assert client.get("/api/v1/jobs").status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/api/v1/docs"])
def test_the_description_takes_a_session_or_a_token(client, as_user, alice, path):
    assert client.get(path).status_code == 401
    assert as_user(alice).get(path.removeprefix("/api/v1")).status_code == 200

    client.force_login(alice)
    answer = client.get(path)
    assert answer.status_code == 200
    assert "//cdn" not in answer.text


def test_every_operation_has_a_row():
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
    }

    assert described == set(OPERATIONS)
