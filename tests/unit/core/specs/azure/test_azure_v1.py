"""Reading v1 files: parallel_run_config, and our key parallel_run_step beside it."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.specs import Files, apply_settings, parse_spec
from tests.unit.core.specs.azure.azure_jobs import parsed, problems_of, read, v1, warnings_of


def test_a_v1_file_is_read() -> None:
    found = parsed(v1())

    spec = read(v1())
    assert found.warnings == ()
    assert (spec.name, spec.queue, spec.node_count) == ("score-scans", "cpu-cluster", 2)
    assert (spec.size(), spec.error_threshold, spec.run_max_try) == (Files(5), 10, 3)
    assert (spec.source_directory, spec.entry_script) == ("/src", "score.py")
    assert spec.environment is not None
    assert spec.environment.requirements == ["pillow"]


def test_what_the_file_does_not_say_may_be_set() -> None:
    raw = {"parallel_run_config": v1()["parallel_run_config"]}

    assert problems_of(raw)[-1].startswith("parallel_run_step.inputs: is required")
    spec = parse_spec(apply_settings(raw, {"inputs.0.path": "/d", "inputs.0.name": "d"})).spec
    assert spec.name == "score"
    assert spec.inputs[0].path == "/d"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"error_threshold": ...}, "parallel_run_config.error_threshold: is required"),
        ({"output_action": ...}, "parallel_run_config.output_action: is required"),
        ({"entry_script": ...}, "parallel_run_config.entry_script: is required"),
        (
            {"run_max_trys": 5},
            "parallel_run_config.run_max_trys: not a known key, did you mean run_max_try?",
        ),
        (
            {"run_max_try": 0},
            "parallel_run_config.run_max_try: must be a whole number of at least 1 (found: 0)",
        ),
        (
            {"allowed_failed_count": -2},
            "parallel_run_config.allowed_failed_count: must be a whole number, -1 or more "
            "(found: -2)",
        ),
        (
            {"error_threshold": 1.5},
            "parallel_run_config.error_threshold: must be a whole number",
        ),
        ({"partition_keys": ["a"]}, "parallel_run_config.mini_batch_size: give one of"),
        (
            {"append_row_file_name": "a/b"},
            "parallel_run_config.append_row_file_name: the character `/` is not allowed",
        ),
        ({"compute_target": "other"}, "parallel_run_config.compute_target: is another name"),
        (
            {"environment": ..., "environment_name": "AzureML-Minimal"},
            "parallel_run_config.environment_name: is not registered here",
        ),
        (
            {"environment": {"pyhton": {}}},
            "parallel_run_config.environment.pyhton: not a known key, did you mean python?",
        ),
    ],
)
def test_a_problem_stands_at_the_writers_own_path(
    changes: dict[str, Any], problem: str
) -> None:
    assert any(one.startswith(problem) for one in problems_of(v1(**changes)))


def test_problems_of_the_step_beside_it_stand_there() -> None:
    step = {"inputs": [{"name": "x", "path": "azureml:x:y"}], "argumens": []}

    assert problems_of(v1(step)) == [
        "parallel_run_step.argumens: not a known key, did you mean arguments?",
        "parallel_run_step.inputs[0].path: must be a path, a URL, azureml:NAME:VERSION with a "
        "version of digits, azureml:NAME@latest or azureml://datastores/NAME/paths/PATH "
        '(found: "azureml:x:y")',
    ]
    assert problems_of(v1({"arguments": ["--output", "x"]})) == [
        "parallel_run_step.arguments[0]: --output is reserved: use the key output"
    ]


def test_keys_beside_the_configuration_are_as_ours() -> None:
    step = {
        "inputs": [{"name": "people", "type": "table", "path": "azureml:people:2"}],
        "side_inputs": {"labels": "azureml://datastores/d/paths/l"},
        "arguments": ["--labels", "${{side_inputs.labels}}"],
        "output": {"format": "csv"},
        "allow_reuse": False,
    }

    spec = read(v1(step, mini_batch_size="10KB"))

    assert spec.inputs[0].path == "dataset:people@2"
    assert spec.side_inputs["labels"].path == "datastore:d/l"
    assert (spec.output.format, spec.allow_reuse) == ("csv", False)


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"environment": ...},
            "parallel_run_config.environment: there is none; the node's own",
        ),
        (
            {"mini_batch_size": "1KB"},
            "mini_batch_size: 1KB of a file input is read as 1024 files",
        ),
        (
            {"run_max_try": None},
            "parallel_run_config.run_max_try: null is read as the default.",
        ),
    ],
)
def test_what_has_another_meaning_here_is_warned_of(
    changes: dict[str, Any], warning: str
) -> None:
    assert warning in warnings_of(v1(**changes))


def test_a_name_outside_the_rule_becomes_one_and_is_kept_as_a_tag() -> None:
    spec = read(v1({"name": "Score Scans (2)"}))

    assert (spec.name, spec.tags) == ("score-scans-2", {"display_name": "Score Scans (2)"})
