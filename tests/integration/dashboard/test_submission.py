"""Submitting from the page: a job file, and an earlier job with changes."""

from __future__ import annotations

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from prsweb.jobs.models import Job
from runner.core.states import JobState

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_redis", "sent", "home")]


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client


def once_of(text):
    return re.search(r'name="once" value="([0-9a-f]{32})"', text)[1]


@pytest.fixture
def ended_job(as_alice, step_spec):
    """A job that was submitted from the page and has ended."""
    as_alice.post("/jobs/new/", {"text": json.dumps(step_spec), "action": "submit"})
    Job.objects.update(state=JobState.SUCCEEDED)
    return Job.objects.get()


def test_a_pasted_job_file_is_checked_without_being_stored(as_alice, step_spec):
    answer = as_alice.post("/jobs/new/", {"text": json.dumps(step_spec), "action": "check"})

    assert answer.status_code == 200
    assert "count-lines can be submitted" in answer.text
    assert not Job.objects.exists()


def test_a_pasted_job_file_becomes_a_job(as_alice, step_spec):
    answer = as_alice.post(
        "/jobs/new/", {"text": json.dumps(step_spec), "action": "submit", "private": "on"}
    )

    job = Job.objects.get()
    assert answer.url == f"/jobs/{job.job_id}/"
    assert job.name == "count-lines"
    assert job.private
    assert as_alice.get(answer.url).status_code == 200


def test_a_chosen_file_wins_over_the_text(as_alice, step_spec):
    file = SimpleUploadedFile("job.json", json.dumps(step_spec | {"name": "chosen"}).encode())

    as_alice.post("/jobs/new/", {"text": "kind: x", "file": file, "action": "submit"})

    assert Job.objects.get().name == "chosen"


def test_all_problems_of_a_job_file_are_told_at_once(as_alice, step_spec):
    spec = step_spec | {"run_max_try": 0, "node_count": "many", "mini_bach_size": 2}

    answer = as_alice.post("/jobs/new/", {"text": json.dumps(spec), "action": "submit"})

    assert answer.status_code == 422
    for words in ("3 problems", "run_max_try", "node_count", "did you mean mini_batch_size?"):
        assert words in answer.text
    assert "&quot;run_max_try&quot;: 0" in answer.text  # what was typed is kept
    assert not Job.objects.exists()


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "<script>alert(1)</script>", "\x00"])
def test_text_that_is_no_job_file_is_refused_in_words(as_alice, text):
    answer = as_alice.post("/jobs/new/", {"text": text, "action": "submit"})

    assert answer.status_code == 422
    assert "1 problem" in answer.text
    assert "<script>alert" not in answer.text


def test_a_form_that_is_sent_twice_makes_one_job(as_alice, step_spec):
    once = once_of(as_alice.get("/jobs/new/").text)
    form = {"text": json.dumps(step_spec), "action": "submit", "once": once}

    first, second = (as_alice.post("/jobs/new/", form) for _ in range(2))

    assert first.url == second.url
    assert Job.objects.count() == 1


def test_a_form_that_is_sent_again_with_other_content_says_so(as_alice, step_spec):
    once = once_of(as_alice.get("/jobs/new/").text)
    form = {"text": json.dumps(step_spec), "action": "submit", "once": once}
    as_alice.post("/jobs/new/", form)

    changed = json.dumps(step_spec | {"run_max_try": 2})
    answer = as_alice.post("/jobs/new/", form | {"text": changed})

    assert answer.status_code == 409
    assert "made a job already" in answer.text
    assert Job.objects.count() == 1
    fresh = form | {"text": changed, "once": once_of(answer.text)}
    assert as_alice.post("/jobs/new/", fresh).status_code == 302


@pytest.mark.parametrize("action", ["submit", "check"])
def test_job_folders_that_cannot_be_written_are_said_in_the_form(
    as_alice, step_spec, home, action
):
    home.jobs.mkdir(exist_ok=True)
    home.jobs.rename(home.root / "away")
    home.jobs.write_text("a file in their place")

    answer = as_alice.post("/jobs/new/", {"text": json.dumps(step_spec), "action": action})

    assert answer.status_code == 503
    assert "the server cannot work with its files: Not a directory" in answer.text
    assert "count-lines" in answer.text  # what was typed is kept
    assert not Job.objects.exists()


def test_the_form_of_an_earlier_job_holds_its_values(as_alice, ended_job):
    text = as_alice.get(f"/jobs/new/?from={ended_job.job_id}").text

    assert 'name="set:run_max_try" value="3"' in text
    assert 'name="set:inputs[0].path"' in text
    assert text.index("set:mini_batch_size") < text.index("All others")
    assert text.index("set:error_threshold") > text.index("All others")


def test_a_check_shows_old_and_new_and_stores_nothing(as_alice, ended_job):
    answer = as_alice.post(
        f"/jobs/new/?from={ended_job.job_id}", {"set:mini_batch_size": "7", "action": "check"}
    )

    assert answer.status_code == 200
    assert "Differences to count-lines" in answer.text
    assert re.search(
        r"mini_batch_size</code>.*?<del>10</del>.*?<ins>7</ins>", answer.text, re.S
    )
    assert Job.objects.count() == 1


def test_what_follows_from_a_change_is_told_as_such(as_alice, ended_job):
    answer = as_alice.post(
        f"/jobs/new/?from={ended_job.job_id}", {"set:run_invocation_timeout": "10"}
    )

    assert "progress_update_timeout" in answer.text
    assert "follows from the others" in answer.text


def test_a_changed_job_is_sent_and_linked(as_alice, ended_job):
    answer = as_alice.post(
        f"/jobs/new/?from={ended_job.job_id}",
        {"set:mini_batch_size": "7", "set:run_max_try": "3", "action": "submit", "once": "a1"},
    )

    new = Job.objects.order_by("-number").first()
    assert answer.url == f"/jobs/{new.job_id}/"
    assert new.resubmitted_from == ended_job
    assert [change["path"] for change in new.changes] == ["mini_batch_size"]
    history = as_alice.get(f"/jobs/{new.job_id}/history/").text
    assert "Changed against" in history
    assert "<ins>7</ins>" in history


@pytest.mark.parametrize(
    ("path", "value"), [("run_max_try", "often"), ("inputs[0].path", "/no/such/folder")]
)
def test_a_problem_stands_at_its_field(as_alice, ended_job, path, value):
    answer = as_alice.post(
        f"/jobs/new/?from={ended_job.job_id}", {f"set:{path}": value, "action": "submit"}
    )

    assert answer.status_code == 422
    fields = re.split(r'<div class="prs-field[" ]', answer.text)[1:]
    fields = [one.split("</section>")[0] for one in fields]
    wrong = [re.search(r"set:([^\"]+)", one)[1] for one in fields if "prs-bad" in one]
    assert wrong == [path]
    assert f'value="{value}"' in answer.text
    assert Job.objects.count() == 1


def test_a_running_job_cannot_be_run_again_yet(as_alice, ended_job):
    Job.objects.update(state=JobState.RUNNING)
    url = f"/jobs/new/?from={ended_job.job_id}"

    assert "run it again when it has ended" in as_alice.get(url).text
    answer = as_alice.post(url, {"action": "submit"})
    assert answer.status_code == 422
    assert "wait for it to end" in answer.text


def test_somebody_elses_private_job_is_no_template(client, bob, make_job):
    job = make_job(private=True)
    client.force_login(bob)

    assert client.get(f"/jobs/new/?from={job.job_id}").status_code == 404


@pytest.mark.parametrize("job_id", ["x", "00000000-0000-4000-8000-000000000000"])
def test_an_earlier_job_that_is_none_is_not_found(as_alice, job_id):
    assert as_alice.get(f"/jobs/new/?from={job_id}").status_code == 404
