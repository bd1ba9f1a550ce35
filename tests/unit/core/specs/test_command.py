"""Plain jobs, arrays, retries and dependencies."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.specs import CommandSpec, dump_spec, parse_spec
from tests.unit.core.specs.spec_jobs import command, problems_of

OTHER = "5b8c1c2e-0000-4000-8000-000000000001"


def test_a_plain_job_has_the_defaults_of_the_reference() -> None:
    spec = parse_spec(command()).spec

    assert isinstance(spec, CommandSpec)
    assert (spec.vcpus, spec.memory, spec.gpus) == (1, 256, 0)
    assert (spec.retry.attempts, spec.timeout, spec.stop_grace_seconds) == (1, None, 30)
    assert parse_spec(dump_spec(spec)).spec == spec


def test_an_array_may_depend_child_by_child() -> None:
    depends_on = [
        {"type": "SEQUENTIAL"},
        {"job": OTHER, "type": "N_TO_N"},
        {"job": f"{OTHER}:3"},
    ]

    spec = parse_spec(command(array={"size": 100}, depends_on=depends_on)).spec

    assert isinstance(spec, CommandSpec)
    assert spec.array is not None
    assert spec.array.size == 100


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": []}, "command: is required"),
        ({"command": ""}, "command: must be a list of text, or one text for a shell"),
        (
            {"array": {"size": 1}},
            "array.size: must be a whole number from 2 to 10000 (found: 1)",
        ),
        ({"array": {"size": 10001}}, "array.size: must be a whole number from 2 to 10000"),
        ({"array": 5}, "array: must be a map with size"),
        ({"depends_on": [{"job": OTHER, "type": "N_TO_N"}]}, "only for an array job"),
        ({"depends_on": [{"job": f"{OTHER}#1"}]}, "must be a job, not one of its nodes"),
        ({"depends_on": [{"job": "digits"}]}, "depends_on[0].job: must be a job id"),
        ({"depends_on": [{}]}, "depends_on[0]: needs job"),
        ({"depends_on": [{"job": OTHER}] * 21}, "must be a list of at most 20 dependencies"),
        ({"retry": {"attempts": 11}}, "retry.attempts: must be a whole number from 1 to 10"),
        (
            {"retry": {"evaluate_on_exit": [{"on_exit_code": "1", "action": "retry"}]}},
            "retry: evaluate_on_exit needs attempts",
        ),
        (
            {"retry": {"attempts": 2, "evaluate_on_exit": [{"action": "retry"}]}},
            "evaluate_on_exit[0]: needs on_status_reason, on_reason or on_exit_code",
        ),
        (
            {
                "retry": {
                    "attempts": 2,
                    "evaluate_on_exit": [{"on_exit_code": 42, "action": "exit"}],
                }
            },
            "on_exit_code: must be digits in quotes",
        ),
        (
            {
                "retry": {
                    "attempts": 2,
                    "evaluate_on_exit": [{"on_reason": "a*b", "action": "exit"}],
                }
            },
            "on_reason: must be at most 512 letters",
        ),
        (
            {
                "retry": {
                    "attempts": 2,
                    "evaluate_on_exit": [{"on_exit_code": "1", "action": "retry"}] * 6,
                }
            },
            "must be a list of at most 5 rules",
        ),
        ({"node_groups": []}, "node_groups: not a known key"),
        ({"tags": {f"t{i}": "" for i in range(51)}}, "tags: at most 50 tags (found: 51)"),
        ({"tags": {"t": "x" * 257}}, "tags.t: a tag's text must have at most 256 characters"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_plain_job_that_breaks_a_rule_is_refused(changes: dict[str, Any], words: str) -> None:
    (found,) = problems_of(command(**changes))

    assert words in found


def test_the_action_of_an_exit_rule_is_taken_in_any_case() -> None:
    rule = {"on_status_reason": "Host EC2*", "action": "RETRY"}

    spec = parse_spec(command(retry={"attempts": 3, "evaluate_on_exit": [rule]})).spec

    assert isinstance(spec, CommandSpec)
    assert spec.retry.evaluate_on_exit[0].action == "retry"
