"""Buttons: who sees them, and what they do."""

from __future__ import annotations

import pytest
from django.test import Client

from runner.core.states import JobState, NodeState

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_redis", "sent")]

BUTTONS = ("Cancel this job", "Change and run again", "Submit a job", ">Drain<")


def urls(job):
    return ["/jobs/", f"/jobs/{job.job_id}/", "/nodes/n2/"]


def test_a_viewer_sees_no_button_and_why(client, vera, full_job):
    job = full_job()
    client.force_login(vera)

    texts = [client.get(url).text for url in urls(job)]

    assert not [button for button in BUTTONS if button in "".join(texts)]
    assert "To submit takes the role submitter" in texts[0]
    assert "To act takes its owner or an operator" in texts[1]
    assert "To drain a node takes the role operator" in texts[2]


@pytest.mark.parametrize(
    "url", ["/jobs/{id}/cancel/", "/nodes/n2/drain/", "/nodes/n2/undrain/", "/jobs/new/"]
)
def test_a_viewer_is_refused_what_has_no_button(client, vera, full_job, url):
    job = full_job()
    client.force_login(vera)

    answer = client.post(url.format(id=job.job_id))

    assert answer.status_code == 403
    assert "takes" in answer.text
    job.refresh_from_db()
    assert job.cancel_requested_at is None


def test_a_stranger_may_look_but_not_cancel_or_run_again(client, bob, full_job):
    job = full_job(state=JobState.RUNNING)
    client.force_login(bob)

    assert "Cancel this job" not in client.get(f"/jobs/{job.job_id}/").text
    assert client.post(f"/jobs/{job.job_id}/cancel/").status_code == 403
    assert client.get(f"/jobs/new/?from={job.job_id}").status_code == 403


def test_the_owner_cancels_with_a_reason(client, alice, full_job):
    job = full_job()
    client.force_login(alice)

    answer = client.post(f"/jobs/{job.job_id}/cancel/", {"reason": "wrong model"})

    assert answer.url == f"/jobs/{job.job_id}/"
    text = client.get(answer.url).text
    assert "Cancelling, asked by alice" in text
    assert "wrong model" in text
    assert "Cancel this job" not in text


def test_cancelling_an_ended_job_says_that_it_has_ended(client, alice, full_job):
    job = full_job(state=JobState.SUCCEEDED)
    client.force_login(alice)

    answer = client.post(f"/jobs/{job.job_id}/cancel/", follow=True)

    assert "has ended already" in answer.text


def test_an_operator_cancels_somebody_elses_private_job(client, olga, full_job):
    job = full_job(private=True)
    client.force_login(olga)

    client.post(f"/jobs/{job.job_id}/cancel/")

    job.refresh_from_db()
    assert job.cancel_requested_by == "olga"


def test_an_operator_drains_a_node_and_takes_it_back(client, olga, full_job):
    from prsweb.jobs.models import Node

    full_job()
    client.force_login(olga)

    client.post("/nodes/n2/drain/")
    assert Node.objects.get(name="n2").state == NodeState.DRAINING
    client.post("/nodes/n2/undrain/")
    assert Node.objects.get(name="n2").state == NodeState.ONLINE


def test_a_node_that_never_joined_is_not_there(client, olga):
    client.force_login(olga)

    assert client.get("/nodes/n9/").status_code == 404
    assert client.post("/nodes/n9/drain/").status_code == 404


@pytest.mark.parametrize(
    "url", ["/jobs/{id}/cancel/", "/nodes/n2/drain/", "/jobs/new/", "/theme/"]
)
def test_a_form_without_its_token_is_refused(alice, full_job, url):
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)

    answer = client.post(url.format(id=full_job().job_id))

    assert answer.status_code == 403


def test_a_get_never_acts(client, olga, full_job):
    job = full_job()
    client.force_login(olga)

    assert client.get(f"/jobs/{job.job_id}/cancel/").status_code == 405
    assert client.get("/nodes/n2/drain/").status_code == 405
    job.refresh_from_db()
    assert job.cancel_requested_at is None
