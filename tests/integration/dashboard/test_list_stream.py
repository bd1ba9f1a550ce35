"""The stream of the job list: changed rows, counters, and a bar for new jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from prsweb.dashboard.job_rows import ListMoment, job_row
from prsweb.dashboard.streams import ListViewer
from runner.core.states import JobState

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_redis")]


def viewer_of(user, *jobs, minutes_ago=0):
    at = timezone.now() - timedelta(minutes=minutes_ago)
    query = ListMoment("", at).stream_query([job_row(job) for job in jobs])
    return ListViewer(user, query)


def fact(job, kind="progress"):
    return {"kind": kind, "job": job.job_id}


def test_a_row_that_is_shown_and_changed_is_sent_and_no_other(alice, make_job):
    shown, quiet = make_job(name="shown"), make_job(name="quiet")
    viewer = viewer_of(alice, shown, quiet)

    html = viewer.render([fact(shown)], is_tick=False, position="")

    assert f'hx-target="#job-{shown.job_id}"' in html
    assert quiet.job_id not in html
    assert "jobs-counters" not in html


def test_the_same_row_is_not_sent_twice(alice, make_job):
    job = make_job(ended_at=timezone.now(), state=JobState.SUCCEEDED)
    viewer = viewer_of(alice, job)
    viewer.render([fact(job)], is_tick=False, position="")

    assert viewer.render([fact(job)], is_tick=False, position="") == ""


def test_a_new_job_is_offered_and_moves_no_row(alice, make_job):
    old = make_job()
    viewer = viewer_of(alice, old, minutes_ago=1)
    old.submitted_at -= timedelta(hours=1)
    old.save(update_fields=["submitted_at"])
    new = make_job()

    html = viewer.render([fact(new, "state"), fact(old, "state")], is_tick=False, position="")

    assert "1 new job: show" in html
    assert f'id="job-{new.job_id}"' not in html
    assert 'hx-target="#jobs-counters"' in html


def test_somebody_elses_private_job_is_neither_shown_nor_counted(bob, make_job):
    private = make_job(private=True)
    viewer = viewer_of(bob, private, minutes_ago=1)

    html = viewer.render([fact(private)], is_tick=False, position="")

    assert private.job_id not in html
    assert "new job" not in html


def test_malformed_facts_and_queries_change_nothing(alice):
    viewer = ListViewer(alice, {"rows": "x,,<b>", "rendered_at": "never"})

    html = viewer.render([{"kind": "state", "job": "<script>"}, {}], is_tick=False, position="")

    assert "<script>" not in html
