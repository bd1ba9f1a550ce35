"""Whatever is sent, the answer is JSON in the one form of errors, and says what is wrong."""

from __future__ import annotations

import os

import pytest
from django.db import IntegrityError, OperationalError
from ninja.testing import TestClient

from prsweb.api.api import Api
from prsweb.api.problems import register_errors
from prsweb.jobs.filters import make_cursor
from prsweb.jobs.models import Job

pytestmark = pytest.mark.django_db


def error_of(answer):
    assert answer["Content-Type"] == "application/json"
    return answer.json()["error"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["", "/", "/nowhere", "/jobs/", "/jobs/a/b/c/d"])
def test_an_address_without_operation_is_not_found(nobody, method, path):
    answer = nobody.call(method, path)

    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


def test_a_cross_site_post_is_not_asked_for_a_csrf_token(client):
    client.handler.enforce_csrf_checks = True

    answer = client.post("/api/v1/nowhere", {})

    assert answer.status_code == 404


def test_a_wrong_method_names_the_right_ones(as_user, alice):
    answer = as_user(alice).call("PUT", "/jobs")

    assert answer.status_code == 405
    assert answer["Allow"] == "GET, POST"
    assert error_of(answer)["message"] == "This address takes GET, POST only."


@pytest.mark.parametrize(
    ("body", "path", "found"),
    [
        ({"days": 0}, "days", "0"),
        ({"days": "x"}, "days", "x"),
        ({"scope": "god"}, "scope", "god"),
        ({"name": "a\0b"}, "name", "a\0b"),
        ({"name": " "}, "name", " "),
        ({"name": "x" * 1000}, "name", "x" * 200 + "…"),
        ({"mood": 1}, "mood", "1"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_found(as_user, alice, body, path, found):
    answer = as_user(alice).post("/tokens", body)

    assert answer.status_code == 422
    (problem,) = error_of(answer)["problems"]
    assert (problem["path"], problem["found"]) == (path, found)


def test_what_is_missing_was_found_to_be_nothing(as_user, alice):
    answer = as_user(alice).post("/jobs", {"spec": {}})

    assert [one["found"] for one in error_of(answer)["problems"]] == [""]


@pytest.mark.parametrize("path", ["/jobs?q=%00", "/nodes/%00", "/jobs?owner=a%00b"])
def test_a_nul_in_the_address_is_malformed(as_user, alice, path):
    answer = as_user(alice).call("GET", path)

    assert answer.status_code == 400
    assert error_of(answer)["message"] == "The address holds the character U+0000."


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_beyond_all_times_is_refused(as_user, alice, at):
    caller = as_user(alice)

    for query in ({"since": at}, {"after": make_cursor(at, 1)}):
        answer = caller.get("/jobs", **query)

        assert answer.status_code == 422
        assert [one["path"] for one in error_of(answer)["problems"]] == list(query)


@pytest.mark.parametrize("reason", ["a\0b", "a\ud800b", 7, "x" * 2001])
def test_a_reason_that_cannot_be_kept_cancels_nothing(as_user, make_job, alice, reason):
    job = make_job()

    answer = as_user(alice).post(f"/jobs/{job.job_id}/cancel", {"reason": reason})

    assert answer.status_code == 400
    assert error_of(answer)["message"].startswith("reason: ")
    job.refresh_from_db()
    assert job.cancel_requested_at is None


def test_a_key_that_stood_for_another_request_is_a_conflict(as_user, step_spec, alice, bob):
    caller = as_user(alice)
    first = caller.post("/jobs", {"spec": step_spec}, idempotency_key="k").json()

    other = caller.post("/jobs", {"spec": step_spec, "private": True}, idempotency_key="k")
    of_bob = as_user(bob).post(
        "/jobs", {"spec": step_spec, "private": True}, idempotency_key="k"
    )

    assert other.status_code == 409
    assert first["id"][:8] in error_of(other)["message"]
    assert of_bob.status_code == 201
    assert Job.objects.count() == 2


@pytest.mark.parametrize("key", ["inputs.0.path", "output.path", "source_directory"])
def test_a_path_that_no_system_takes_is_a_problem_of_the_job(as_user, step_spec, alice, key):
    body = {"spec": step_spec, "set": {key: f"{step_spec['source_directory']}/{'x' * 300}"}}

    answer = as_user(alice).post("/jobs", body)

    assert answer.status_code == 422
    (problem,) = error_of(answer)["problems"]
    assert "File name too long" in problem["rule"]


def test_a_pipe_in_the_input_is_not_waited_for(as_user, step_spec, alice, tmp_path):
    folder = tmp_path / "pipes"
    folder.mkdir()
    os.mkfifo(folder / "pipe")

    answer = as_user(alice).post(
        "/jobs/check", {"spec": step_spec, "set": {"inputs.0.path": str(folder)}}
    )

    assert answer.json()["problems"] == []


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (IntegrityError("UNIQUE constraint failed"), 409, "at the same time"),
        (OperationalError("database is locked"), 503, "database does not answer"),
        (OSError(28, "No space left on device"), 503, "No space left on device"),
    ],
)
def test_what_is_not_the_callers_fault_says_whose_it_is(error, status, word):
    failing = Api(urls_namespace=f"failing-{status}-{word[:3]}")
    register_errors(failing)

    @failing.get("/fails")
    def fails(request):
        raise error

    answer = TestClient(failing).get("/fails")

    assert answer.status_code == status
    assert word in answer.json()["error"]["message"]
