"""Jobs through the REST API, member by member."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.jobs.models import ErrorGroup, Job, JobMetric
from runner.core.states import JobState

JOB_MEMBERS = {
    "id",
    "name",
    "kind",
    "state",
    "cancelling",
    "owner",
    "private",
    "queue",
    "tags",
    "url",
    "folder",
    "output",
    "output_folder",
    "mini_batches",
    "items",
    "succeeded_items",
    "failed_items",
    "repeated_tries",
    "duplicates",
    "progress",
    "metrics",
    "submitted_at",
    "started_at",
    "running_at",
    "ended_at",
    "seconds",
    "attempt",
    "attempts",
    "attempt_limit",
    "reason",
    "cause",
    "decided_by",
    "cancel_reason",
    "status_reason",
    "exit_code",
    "headline",
    "warnings",
    "top_errors",
    "nodes",
    "main_node",
    "node_count",
    "resubmitted_from",
    "reused_from",
    "array",
    "spec",
    "version",
}
PROGRESS_MEMBERS = {
    "listing",
    "waiting",
    "running",
    "retrying",
    "succeeded",
    "partial",
    "failed",
    "not_run",
    "taken_over",
    "remaining_items",
    "done_percent",
    "remaining_seconds",
    "remaining_seconds_low",
    "remaining_seconds_high",
    "updated_at",
}
NOT_IN_LISTS = {"spec", "metrics", "top_errors"}


def test_a_job_has_every_member_of_the_contract(as_user, make_job, alice):
    start = timezone.now() - timedelta(seconds=10)
    job = make_job(
        state=JobState.SUCCEEDED,
        submitted_at=start,
        started_at=start,
        running_at=start,
        ended_at=start + timedelta(seconds=4.2),
        mini_batches_created=90,
        items_created=1797,
        succeeded_count=90,
        succeeded_items=1797,
    )
    JobMetric.objects.create(job=job, at=start, name="accuracy", value=0.97)

    answer = as_user(alice).get(f"/jobs/{job.job_id}").json()

    assert set(answer) >= JOB_MEMBERS
    assert set(answer["progress"]) == PROGRESS_MEMBERS
    assert set(answer["headline"]) == {"text", "case", "numbers", "decided_by", "actions"}
    assert answer["seconds"] == 4.2
    assert answer["submitted_at"].endswith("Z")
    assert len(answer["submitted_at"]) == len("2026-01-31T09:15:02.123Z")
    assert answer["progress"]["succeeded"] == 90
    assert answer["progress"]["done_percent"] == 100.0
    assert answer["metrics"]["Total MiniBatches"] == 90
    assert answer["metrics"]["accuracy"] == 0.97
    assert answer["headline"]["text"].startswith("Succeeded: 1,797 of 1,797 items")
    assert answer["url"].endswith(f"/jobs/{job.job_id}/")
    assert answer["array"] is None


def test_a_multi_node_job_has_no_mini_batches(as_user, make_job, alice):
    job = make_job(kind="multi_node", main_node=0)

    answer = as_user(alice).get(f"/jobs/{job.job_id}").json()

    assert answer["mini_batches"] is None
    assert answer["items"] is None
    assert answer["progress"] is None
    assert answer["main_node"] == 0


def test_a_list_leaves_out_what_grows(as_user, make_job, alice):
    make_job()

    (item,) = as_user(alice).get("/jobs").json()["items"]

    assert set(item) >= JOB_MEMBERS - NOT_IN_LISTS
    assert not NOT_IN_LISTS & set(item)


def test_lists_go_on_from_page_to_page_without_gap_or_double(as_user, make_job, alice):
    same_moment = timezone.now()
    names = [make_job(name=f"job-{n}", submitted_at=same_moment).name for n in range(7)]
    caller = as_user(alice)

    for sort, expected in (("-submitted", names[::-1]), ("submitted", names)):
        seen, after = [], ""
        while after is not None:
            page = caller.get("/jobs", limit=3, after=after, sort=sort).json()
            seen += [job["name"] for job in page["items"]]
            after = page["next"]
        assert seen == expected


def test_lists_are_filtered(as_user, make_job, alice, bob):
    make_job(name="one", state=JobState.FAILED, tags={"team": "mail"})
    make_job(name="two", state=JobState.RUNNABLE, owner=bob)
    make_job(name="old", submitted_at=timezone.now() - timedelta(days=9))
    caller = as_user(alice)

    def names(**query):
        return {job["name"] for job in caller.get("/jobs", **query).json()["items"]}

    assert names(state="failed") == {"one"}
    assert names(state="waiting") == {"two", "old"}
    assert names(state="FAILED,RUNNABLE") == {"one", "two"}
    assert names(owner="me") == {"one", "old"}
    assert names(owner="bob") == {"two"}
    assert names(tag="team=mail") == names(tag="team") == {"one"}
    assert names(tag="team=other") == set()
    assert names(q="tw") == {"two"}
    assert names(since="7d") == {"one", "two"}
    assert names(kind="multi_node") == set()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"state": "faild"}, "state"),
        ({"limit": "1000"}, "limit"),
        ({"since": "yesterday"}, "since"),
        ({"after": "nonsense"}, "after"),
        ({"after": "WzEsMl0"}, "after"),
        ({"sort": "size"}, "sort"),
    ],
)
def test_a_wrong_filter_names_itself(as_user, make_job, alice, query, path):
    answer = as_user(alice).get("/jobs", **query)

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "invalid"
    assert [problem["path"] for problem in error["problems"]] == [path]


def test_a_job_is_found_by_a_beginning_of_its_id(as_user, make_job, alice):
    job = make_job()
    make_job()

    found = as_user(alice).get("/jobs", q=job.job_id[:6]).json()["items"]

    assert job.job_id in [one["id"] for one in found]


def test_the_number_of_queries_does_not_grow_with_the_list(
    as_user, make_job, alice, django_assert_max_num_queries
):
    for _ in range(20):
        make_job()
    caller = as_user(alice)
    caller.get("/jobs")

    with django_assert_max_num_queries(5):
        caller.get("/jobs")


def test_a_submitted_job_comes_back_whole(as_user, step_spec, alice):
    answer = as_user(alice).post("/jobs", {"spec": step_spec, "private": True})

    assert answer.status_code == 201
    job = answer.json()
    assert job["state"] == "SUBMITTED"
    assert job["reason"]
    assert job["private"] is True
    assert job["spec"]["run_max_try"] == 3


def test_all_problems_of_a_job_come_at_once(as_user, step_spec, alice):
    step_spec["run_max_try"] = 0
    step_spec["error_threshold"] = "5"

    answer = as_user(alice).post("/jobs", {"spec": step_spec})

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["message"] == "The job has 2 problems."
    assert {one["path"] for one in error["problems"]} == {"run_max_try", "error_threshold"}
    assert all(set(one) == {"path", "rule", "found"} for one in error["problems"])
    assert not Job.objects.exists()


def test_a_check_answers_200_with_the_problems(as_user, step_spec, alice):
    step_spec["queue"] = "nowhere"

    answer = as_user(alice).post("/jobs/check", {"spec": step_spec})

    assert answer.status_code == 200
    assert set(answer.json()) == {"spec", "warnings", "problems"}
    assert [one["path"] for one in answer.json()["problems"]] == ["queue"]
    assert not Job.objects.exists()


def test_an_archive_is_submitted_as_a_form(as_user, step_spec, alice, home):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        script = tarfile.TarInfo("score.py")
        script.size = len(b"def run(b): return b")
        tar.addfile(script, io.BytesIO(b"def run(b): return b"))
    packed.seek(0)
    packed.name = "source.tar.gz"
    form = {
        "spec": json.dumps(step_spec),
        "set": json.dumps({"run_max_try": "7"}),
        "private": "false",
        "source": packed,
    }

    answer = as_user(alice).upload("/jobs", form)

    assert answer.status_code == 201, answer.text
    assert answer.json()["spec"]["run_max_try"] == 7
    snapshot = home.job(answer.json()["id"]).snapshot
    assert (snapshot / "score.py").read_bytes() == b"def run(b): return b"


def test_a_repeated_request_with_the_same_key_is_the_same_job(as_user, step_spec, alice):
    caller = as_user(alice)

    first = caller.post("/jobs", {"spec": step_spec}, idempotency_key="k1").json()
    again = caller.post("/jobs", {"spec": step_spec}, idempotency_key="k1").json()

    assert first["id"] == again["id"]
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"spec": []}', '{"spec": {}, "private": 1}', "[" * 100_000]
)
def test_what_cannot_be_read_is_malformed(as_user, alice, body):
    caller = as_user(alice)

    answer = caller._client.post(
        "/api/v1/jobs", body, content_type="application/json", headers=caller._headers
    )

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "malformed"


def test_a_body_beyond_the_limit_is_too_large(as_user, alice, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

    answer = as_user(alice).post("/jobs", {"spec": {"name": "x" * 2000}})

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


def test_cancel_answers_the_job_as_it_is_after_the_order(as_user, make_job, alice):
    waiting, running = make_job(state=JobState.RUNNABLE), make_job(state=JobState.RUNNING)
    caller = as_user(alice)

    cancelled = caller.post(f"/jobs/{waiting.job_id}/cancel", {"reason": "wrong"}).json()
    ordered = caller.post(f"/jobs/{running.job_id}/cancel").json()

    assert (cancelled["state"], cancelled["cancel_reason"]) == ("CANCELLED", "wrong")
    assert (ordered["state"], ordered["cancelling"]) == ("RUNNING", True)
    assert ordered["headline"]["case"] == "cancelling"


def test_a_wrong_state_is_a_conflict(as_user, make_job, alice):
    ended, running = make_job(state=JobState.FAILED), make_job(state=JobState.RUNNING)
    caller = as_user(alice)

    answers = [
        caller.post(f"/jobs/{ended.job_id}/cancel"),
        caller.post(f"/jobs/{running.job_id}/resubmit"),
        caller.call("DELETE", f"/jobs/{running.job_id}"),
    ]

    assert [answer.status_code for answer in answers] == [409, 409, 409]
    assert all(answer.json()["error"]["code"] == "conflict" for answer in answers)


def test_a_resubmission_is_a_new_job(as_user, step_spec, alice):
    caller = as_user(alice)
    old = caller.post("/jobs", {"spec": step_spec}).json()
    Job.objects.update(state=JobState.FAILED)

    answer = caller.post(f"/jobs/{old['id']}/resubmit", {"set": {"run_max_try": 5}})

    assert answer.status_code == 201
    new = answer.json()
    assert new["resubmitted_from"] == old["id"]
    assert new["changes"] == [{"path": "run_max_try", "old": 3, "new": 5}]


def test_a_deleted_job_is_gone(as_user, make_job, alice, home):
    job = make_job(state=JobState.FAILED)
    caller = as_user(alice)

    assert caller.call("DELETE", f"/jobs/{job.job_id}").status_code == 204
    assert caller.get(f"/jobs/{job.job_id}").status_code == 404
    assert not home.job(job.job_id).root.exists()


@pytest.mark.parametrize(
    "job_id", ["x", "00000000-0000-0000-0000-000000000000", "..%2f..", "1", "9" * 500]
)
def test_an_unknown_job_is_not_found(as_user, alice, job_id):
    answer = as_user(alice).get(f"/jobs/{job_id}")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_errors_are_listed_largest_first_and_three_of_them_stand_with_the_job(
    as_user, make_job, alice
):
    job = make_job(state=JobState.FAILED, error_group_count=4)
    now = timezone.now()
    for count in (1, 4, 3, 2):
        ErrorGroup.objects.create(
            job=job,
            fingerprint=f"v1:{count}",
            kind="exception",
            title=f"E{count}",
            count=count,
            first_at=now,
            last_at=now,
            traceback="Traceback",
        )
    caller = as_user(alice)

    listed = caller.get(f"/jobs/{job.job_id}/errors").json()["items"]
    first_page = caller.get(f"/jobs/{job.job_id}/errors", limit=3).json()
    rest = caller.get(f"/jobs/{job.job_id}/errors", limit=3, after=first_page["next"]).json()
    top = caller.get(f"/jobs/{job.job_id}").json()["top_errors"]

    assert [one["title"] for one in listed] == ["E4", "E3", "E2", "E1"]
    assert [one["title"] for one in rest["items"]] == ["E1"]
    assert [one["title"] for one in top] == ["E4", "E3", "E2"]
    assert top[0]["traceback"]
    assert caller.get(f"/jobs/{job.job_id}/errors/v1:3").json()["count"] == 3
    assert caller.get(f"/jobs/{job.job_id}/errors/v1:9").status_code == 404


def test_events_are_listed_newest_first(as_user, step_spec, alice):
    caller = as_user(alice)
    job = caller.post("/jobs", {"spec": step_spec}).json()
    caller.post(f"/jobs/{job['id']}/cancel", {"reason": "no"})

    events = caller.get(f"/jobs/{job['id']}/events").json()["items"]

    assert [(one["from_state"], one["to_state"]) for one in events] == [
        ("SUBMITTED", "CANCELLED"),
        (None, "SUBMITTED"),
    ]
    assert set(events[0]) == {"at", "kind", "from_state", "to_state", "actor", "reason"}
