from __future__ import annotations

import pytest

from runner.core.gang_outcome import (
    GangDecision,
    cancelled,
    could_not_start,
    grant_undone,
    is_retried,
    main_ended,
    main_lost,
    timed_out,
)
from runner.core.states import JobState


def exited(code: int, signal: int | None = None, reason: str = "") -> GangDecision:
    return main_ended(
        "multi_node", exit_code=code, signal=signal, container_reason=reason, main_node=0
    )


def test_the_exit_code_of_the_main_node_is_the_outcome():
    assert exited(0).state is JobState.SUCCEEDED
    failed = exited(143, 15)

    assert failed.state is JobState.FAILED
    assert failed.status_reason == "Essential container in task exited"
    assert failed.reason == "the main node (node 0) was killed by signal 15, exit code 143"


def test_the_name_of_a_lost_host_is_made_from_the_nodes_name_and_always_the_same():
    first, second = main_lost("n1", "no beat"), main_lost("n1", "other")

    assert first.status_reason == second.status_reason
    assert first.status_reason.startswith("Host EC2 (instance i-")
    assert len(first.status_reason.split("i-")[1].split(")")[0]) == 17
    assert main_lost("n2", "").status_reason != first.status_reason


@pytest.mark.parametrize(
    ("decision", "attempt", "expected"),
    [
        (exited(0), 1, False),
        (exited(1), 1, True),
        (exited(1), 3, False),  # none left
        (timed_out(60), 1, False),
        (cancelled("alice", "enough"), 1, False),
        (could_not_start("CannotStartContainerError: x"), 1, True),
        (grant_undone("n1", "no beat"), 3, True),  # not counted
    ],
)
def test_a_failed_attempt_is_followed_by_another_while_there_are_any(
    decision, attempt, expected
):
    assert is_retried(decision, {}, attempt=attempt, attempt_limit=3) is expected


@pytest.mark.parametrize(
    ("rules", "decision", "expected"),
    [
        ([{"on_exit_code": "42", "action": "exit"}], exited(42), False),
        ([{"on_exit_code": "42", "action": "exit"}], exited(4), True),
        ([{"on_exit_code": "4*", "action": "exit"}], exited(42), False),
        ([{"on_status_reason": "Host EC2*", "action": "retry"}], main_lost("n1", ""), True),
        (
            [
                {"on_status_reason": "Host EC2*", "action": "retry"},
                {"on_reason": "*", "action": "exit"},
            ],
            exited(1),
            False,
        ),
        (
            [{"on_reason": "OutOfMemory*", "on_exit_code": "1", "action": "exit"}],
            exited(137, 9, "OutOfMemoryError: x"),
            True,  # not all of its conditions match
        ),
    ],
)
def test_the_first_rule_that_matches_decides_about_another_attempt(rules, decision, expected):
    retry = {"attempts": 3, "evaluate_on_exit": rules}

    assert is_retried(decision, retry, attempt=1, attempt_limit=3) is expected


def test_a_decision_comes_back_from_the_database_as_it_was():
    decision = main_lost("n1", "no beat for 15 s")

    assert GangDecision.from_dict(decision.to_dict()) == decision
