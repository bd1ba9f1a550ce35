"""Which case tells a job: the first that fits."""

from __future__ import annotations

import pytest

from runner.core.headline import ErrorFacts, HeadlineFacts, choose_headline
from runner.core.states import JobKind, JobState

P, M = JobKind.PARALLEL_RUN_STEP, JobKind.MULTI_NODE
J = JobState


def case_of(state: JobState, kind: JobKind = P, **facts: object) -> str:
    return choose_headline(HeadlineFacts(kind=kind, state=state, **facts)).case


@pytest.mark.parametrize(
    ("state", "kind", "facts", "case"),
    [
        (J.SUBMITTED, P, {}, "submitted"),
        (J.PENDING, P, {}, "waiting_for_jobs"),
        (J.RUNNABLE, M, {}, "waiting_for_nodes"),
        (J.RUNNABLE, M, {"attempt": 1}, "attempt_repeated"),
        (J.STARTING, P, {}, "starting"),
        (J.RUNNING, P, {"created": 10, "done": 3}, "running_early"),
        (J.RUNNING, P, {"is_listing": True, "done": 50}, "running_listing"),
        (J.RUNNING, P, {"done": 50, "remaining_low_seconds": 9}, "running"),
        (J.RUNNING, M, {}, "running_main"),
        (J.RUNNING, P, {"init_errors": ErrorFacts("E", 5, ("n1",))}, "init_failing"),
        (J.STARTING, P, {"init_errors": ErrorFacts("E", 5)}, "init_failing"),
        (J.RUNNING, P, {"cancelled_by": "maria"}, "cancelling"),
        (J.CANCELLED, P, {"cancelled_by": "maria"}, "cancelled"),
        (J.SUCCEEDED, P, {}, "succeeded"),
        (J.SUCCEEDED, P, {"duplicates": 2}, "duplicates_left_out"),
        (J.SUCCEEDED, P, {"failed_items": 2}, "succeeded_with_failures"),
        (J.SUCCEEDED, P, {"reused_from": "score-12"}, "reused"),
        (J.SUCCEEDED, M, {}, "succeeded_main"),
        (J.FAILED, P, {"cause": "error_threshold / run_exception"}, "error_threshold"),
        (J.FAILED, P, {"cause": "no_input"}, "no_input"),
        (J.FAILED, P, {}, "failed"),
        (J.FAILED, M, {"exit_code": 1}, "main_node_exit"),
        (J.FAILED, M, {}, "failed"),
    ],
)
def test_the_first_case_that_fits_is_taken(state, kind, facts, case):
    assert case_of(state, kind, **facts) == case


def test_a_cancel_that_came_too_late_does_not_hide_the_outcome():
    assert case_of(J.SUCCEEDED, cancelled_by="maria") == "succeeded"


@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("kind", list(JobKind))
def test_somebody_has_always_decided(state, kind):
    choice = choose_headline(HeadlineFacts(kind=kind, state=state))

    assert choice.decided_by
    assert len(choice.actions) <= 2


@pytest.mark.parametrize(
    ("facts", "decider"),
    [
        ({"cause": "error_threshold"}, "error_threshold"),
        ({"cause": "no_progress"}, "progress_update_timeout"),
        ({"cause": "init_failed"}, "init limit"),
        ({"cause": "x", "outcome": {"setting": "time_limit"}}, "time_limit"),
        ({"cause": "x", "decided_by": "master role"}, "master role"),
        ({"cause": "x"}, "outcome rule"),
    ],
)
def test_a_failure_names_the_setting_that_decided(facts, decider):
    choice = choose_headline(HeadlineFacts(kind=P, state=J.FAILED, **facts))

    assert choice.decided_by == decider


@pytest.mark.parametrize(
    ("outcome", "first"),
    [
        ({"dominant": "KeyError: 'label'", "group_count": 1}, "errors"),
        ({"group_count": 3}, "errors"),  # several causes, none of them the largest by far
        ({"group_count": 0}, "resubmit"),
        ({}, "resubmit"),
    ],
)
def test_a_failed_job_leads_to_its_errors_first_where_it_has_any(outcome, first):
    facts = HeadlineFacts(kind=P, state=J.FAILED, cause="error_threshold", outcome=outcome)

    assert choose_headline(facts).actions[0] == first
