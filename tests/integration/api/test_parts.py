"""Logs, outputs, samples, nodes, tokens, links: through the REST API."""

from __future__ import annotations

import pytest
from django.utils import timezone

from prsweb.accounts.models import Scope
from prsweb.accounts.services import use_sign_in_link
from prsweb.jobs.models import JobNode, Node, Sample
from runner.core.states import JobState


@pytest.fixture
def job(make_job, home):
    job = make_job(state=JobState.RUNNING)
    (home.job(job.job_id).logs / "user").mkdir()
    (home.job(job.job_id).logs / "user" / "error.txt").write_text("one\ntwo\nthree")
    (home.job(job.job_id).output / "rows.txt").write_text("<script>alert(1)</script>\n")
    JobNode.objects.create(
        job=job,
        assignment=1,
        index=0,
        node_name="n1",
        boot_id="b",
        address="127.0.1.1",
        granted_at=timezone.now(),
    )
    return job


def test_logs_are_listed_and_read_by_line(as_user, job, alice):
    caller = as_user(alice)
    path = f"/jobs/{job.job_id}/logs"

    (entry,) = caller.get(path).json()["items"]
    lines = caller.get(f"{path}/range", path="user/error.txt", first=2, count=1).json()
    tail = caller.get(f"{path}/range", path="user/error.txt", first=-2).json()

    assert {key: entry[key] for key in ("path", "bytes", "lines", "live")} == {
        "path": "user/error.txt",
        "bytes": 13,
        "lines": 3,
        "live": True,
    }
    assert lines == {
        "path": "user/error.txt",
        "first": 2,
        "lines": ["two"],
        "total_lines": 3,
        "bytes": 13,
        "complete": False,
        "live": True,
        "cut": [],
    }
    assert tail["lines"] == ["two", "three"]


def test_logs_are_searched_in_one_file_and_in_all(as_user, job, alice):
    caller = as_user(alice)
    path = f"/jobs/{job.job_id}/logs/search"

    one = caller.get(path, q="t", path="user/error.txt", limit=1).json()
    more = caller.get(path, q="t", path="user/error.txt", from_line=one["next"]).json()
    everywhere = caller.get(path, q="TWO").json()

    assert one["items"] == [{"path": "user/error.txt", "line": 2, "text": "two"}]
    assert [hit["line"] for hit in more["items"]] == [3]
    assert everywhere["items"][0]["line"] == 2
    assert everywhere["complete"] is True


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"path": "../spec.json"}, 404),
        ({"path": "/etc/passwd"}, 404),
        ({"path": "user/error.txt", "count": 501}, 422),
        ({"path": "user/error.txt", "first": "x"}, 422),
        ({"path": "user/error.txt", "first": 10**30}, 422),
        ({}, 422),
    ],
)
def test_odd_ranges_get_one_clear_answer(as_user, job, alice, query, status):
    answer = as_user(alice).get(f"/jobs/{job.job_id}/logs/range", **query)

    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_a_search_needs_text(as_user, job, alice):
    answer = as_user(alice).get(f"/jobs/{job.job_id}/logs/search", q="")

    assert answer.status_code == 422


def test_downloads_are_exact_and_never_run_in_a_browser(as_user, job, alice):
    caller = as_user(alice)

    log = caller.get(f"/jobs/{job.job_id}/logs/raw", path="user/error.txt")
    output = caller.get(f"/jobs/{job.job_id}/outputs/raw", path="rows.txt")

    assert b"".join(log.streaming_content) == b"one\ntwo\nthree"
    assert b"".join(output.streaming_content) == b"<script>alert(1)</script>\n"
    for answer in (log, output):
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Content-Disposition"].startswith("attachment")
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_outputs_are_listed(as_user, job, alice, home):
    answer = as_user(alice).get(f"/jobs/{job.job_id}/outputs").json()

    assert answer["files"] == [{"path": "rows.txt", "bytes": 26}]
    assert answer["output"] is None
    assert answer["output_folder"] == str(home.job(job.job_id).output)


def test_samples_are_series_with_times(as_user, job, alice):
    Sample.objects.create(job=job, at_ms=1_700_000_000_000, node_index=0, cpu_percent=50)

    answer = as_user(alice).get(f"/jobs/{job.job_id}/samples", metric="cpu").json()

    assert answer["unit"] == "percent of one CPU"
    (series,) = answer["series"]
    assert (series["node"], series["process"], series["max"]) == ("n1", None, [50.0])
    assert series["at"][0].startswith("2023-11-14T22:13:20")


@pytest.mark.parametrize("query", [{"metric": "money"}, {"points": 0}, {"from": "then"}])
def test_odd_samples_name_their_problem(as_user, job, alice, query):
    answer = as_user(alice).get(f"/jobs/{job.job_id}/samples", **query)

    assert answer.status_code == 422
    assert [one["path"] for one in answer.json()["error"]["problems"]] == [*query]


def test_the_nodes_of_a_job_are_listed(as_user, job, alice):
    (node,) = as_user(alice).get(f"/jobs/{job.job_id}/nodes").json()["items"]

    assert set(node) == {
        *("index", "name", "address", "main", "state", "exit_code", "signal", "reason"),
        *("started_at", "ended_at", "attempt", "log"),
    }


def test_a_node_is_drained_and_taken_back(as_user, alice, olga):
    now = timezone.now()
    Node.objects.create(
        name="n1",
        boot_id="b",
        address="127.0.1.1",
        host="here",
        location="here",
        vcpus=2,
        memory_mib=1024,
        version="0.1.0",
        joined_at=now,
        up_since=now,
        beat_at=now,
    )
    caller = as_user(olga)

    assert caller.get("/nodes").json()["items"][0]["state"] == "online"
    assert caller.post("/nodes/n1/drain").json()["state"] == "drained"
    assert caller.post("/nodes/n1/undrain").json()["state"] == "online"
    assert caller.get("/nodes/n9").status_code == 404


def test_a_token_is_shown_once_and_works_until_it_is_revoked(as_user, alice):
    caller = as_user(alice)

    new = caller.post("/tokens", {"name": "ci", "scope": "read", "days": 1})
    listed = caller.get("/tokens").json()["items"]
    token_id = new.json()["id"]

    assert new.status_code == 201
    assert set(new.json()) == {"id", "name", "scope", "expires_at", "token"}
    assert new.json()["token"] not in str(listed)
    assert caller.call("DELETE", f"/tokens/{token_id}").status_code == 204
    assert caller.call("DELETE", f"/tokens/{token_id}").status_code == 404


@pytest.mark.parametrize(
    "body", [{"scope": "root"}, {"days": 0}, {"name": ""}, {"nam": "x"}, []]
)
def test_an_odd_token_is_refused(as_user, alice, body):
    assert as_user(alice).post("/tokens", body).status_code == 422


def test_a_link_is_made_for_whoever_calls(as_user, alice):
    answer = as_user(alice).post("/sign-in-links").json()

    key = answer["url"].rstrip("/").rpartition("/")[2]
    assert use_sign_in_link(key) == alice


def test_a_submit_token_of_an_admin_makes_no_link(as_user, ada):
    assert as_user(ada, Scope.SUBMIT).post("/sign-in-links").status_code == 403


@pytest.mark.parametrize("path", ["/nothing", "/jobs/x/y/z", ""])
def test_an_address_without_operation_answers_in_the_same_form(as_user, alice, path):
    answer = as_user(alice).get(path)

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.django_db
def test_health_says_no_more_than_it_must(client, home, no_redis):
    assert client.get("/healthz").json() == {"ok": True}

    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json() == {
        "ready": False,
        "database": "ok",
        "redis": "away",
        "disk": "ok",
        "orchestrator": "silent",
        "nodes": "0 of 1",
    }
