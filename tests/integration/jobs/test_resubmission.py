"""A new job from an old one."""

from __future__ import annotations

import shutil

import pytest

from prsweb.accounts.permissions import Actor, NotAllowed
from prsweb.jobs.models import Job
from prsweb.jobs.services.resubmission import (
    CannotResubmit,
    check_resubmission,
    resubmit_job,
)
from prsweb.jobs.services.submission import InvalidJob, Submission, submit_job
from runner.core.states import JobState


@pytest.fixture
def ended(step_spec, alice):
    job = submit_job(submission=Submission(step_spec), actor=Actor(alice))
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED)
    job.refresh_from_db()
    return job


def resubmit(job, user, **options):
    return resubmit_job(job=job, actor=Actor(user), **({"set_values": {}} | options))


def test_the_new_job_lists_what_was_changed_and_the_old_one_stays(ended, alice):
    new = resubmit(ended, alice, set_values={"mini_batch_size": "2", "run_max_try": 1})

    assert new.resubmitted_from == ended
    assert new.state == JobState.SUBMITTED
    assert {change["path"]: (change["old"], change["new"]) for change in new.changes} == {
        "mini_batch_size": (10, 2),
        "run_max_try": (3, 1),
    }
    ended.refresh_from_db()
    assert ended.state == JobState.FAILED


def test_nothing_changed_is_no_change(ended, alice):
    assert resubmit(ended, alice).changes == []


def test_a_changed_parameter_reaches_the_places_that_use_it(step_spec, alice):
    step_spec["parameters"] = {"size": 2}
    step_spec["mini_batch_size"] = "${{parameters.size}}"
    job = submit_job(submission=Submission(step_spec), actor=Actor(alice))
    Job.objects.update(state=JobState.SUCCEEDED)
    job.refresh_from_db()

    new = resubmit(job, alice, set_values={"parameters.size": "3"})
    newer_base = Job.objects.get(pk=new.pk)
    Job.objects.update(state=JobState.SUCCEEDED)
    newer_base.refresh_from_db()
    newer = resubmit(newer_base, alice, set_values={"parameters.size": "4"})

    assert new.spec["mini_batch_size"] == 3
    assert newer.spec["mini_batch_size"] == 4


def test_it_runs_the_code_as_it_is_now(ended, alice, tmp_path, home):
    (tmp_path / "code" / "score.py").write_text("def run(b): return ['new']\n")

    new = resubmit(ended, alice)

    assert "new" in (home.job(new.job_id).snapshot / "score.py").read_text()


def test_where_the_folder_is_gone_it_runs_the_old_copy_and_says_so(
    ended, alice, tmp_path, home
):
    shutil.rmtree(tmp_path / "code")

    new = resubmit(ended, alice)

    assert (home.job(new.job_id).snapshot / "score.py").exists()
    assert any("earlier job's copy" in warning for warning in new.warnings)


def test_a_bad_value_makes_no_job(ended, alice):
    with pytest.raises(InvalidJob) as caught:
        resubmit(ended, alice, set_values={"run_max_try": "0", "run_max_trys": "1"})

    assert any("did you mean run_max_try?" in str(one) for one in caught.value.problems)
    assert Job.objects.count() == 1


def test_an_active_job_is_not_resubmitted(make_job, alice):
    with pytest.raises(CannotResubmit):
        resubmit(make_job(state=JobState.RUNNING), alice)


def test_somebody_elses_job_is_resubmitted_by_operators_only(ended, bob, olga):
    with pytest.raises(NotAllowed):
        resubmit(ended, bob)

    assert resubmit(ended, olga).owner == olga


def test_failed_only_says_that_it_is_not_offered(ended, alice):
    with pytest.raises(InvalidJob) as caught:
        resubmit(ended, alice, failed_only=True)

    assert caught.value.problems[0].path == "failed_only"


def test_a_check_tells_the_same_and_stores_nothing(ended, alice):
    good = check_resubmission(job=ended, actor=Actor(alice), set_values={"run_max_try": "5"})
    bad = check_resubmission(job=ended, actor=Actor(alice), set_values={"run_max_try": "0"})

    assert good.spec["run_max_try"] == 5
    assert [one.path for one in bad.problems] == ["run_max_try"]
    assert Job.objects.count() == 1
