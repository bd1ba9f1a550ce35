"""``component: ./file.yml``: what the component says, and what wins over it."""

from __future__ import annotations

from typing import Any

from tests.unit.core.specs.azure.azure_jobs import problems_of, read

COMPONENT = """
$schema: https://azuremlschemas.azureedge.net/latest/parallelComponent.schema.json
type: parallel
name: score
version: 3
display_name: Score
inputs:
  data: {type: mltable, description: what is worked on}
  labels: {type: uri_file}
  limit: {type: number, default: "0.25"}
  note: {type: string, optional: true}
outputs:
  result: {type: uri_file}
input_data: ${{inputs.data}}
mini_batch_size: "8"
error_threshold: 5
mini_batch_error_threshold: 7
max_concurrency_per_instance: 4
resources: {instance_count: 3}
retry_settings: {timeout: 100, max_retries: 4}
environment_variables: {A: component, B: component}
task:
  type: run_function
  code: ../src
  entry_script: score.py
  environment: ./env.yml
  program_arguments: >-
    --labels ${{inputs.labels}} --limit ${{inputs.limit}} $[[--note ${{inputs.note}}]]
  append_row_to: ${{outputs.result}}
"""
FILES = {
    "parts/score.yml": COMPONENT,
    "parts/env.yml": "conda_file: {dependencies: [python=3.11]}",
}


def job(**changes: Any) -> dict[str, Any]:
    least = {
        "type": "parallel",
        "name": "nightly",
        "component": "parts/score.yml",
        "inputs": {
            "data": {"type": "uri_folder", "path": "/data"},
            "labels": {"path": "azureml:labels:1"},
        },
    }
    return {**least, **changes}


def test_a_component_is_read_and_every_threshold_survives() -> None:
    spec = read(job(), FILES)

    assert spec.name == "nightly"
    assert (spec.inputs[0].name, spec.inputs[0].type) == ("data", "files")
    assert spec.side_inputs["labels"].path == "dataset:labels@1"
    assert spec.parameters == {"limit": 0.25}
    assert (spec.mini_batch_size, spec.node_count, spec.process_count_per_node) == (8, 3, 4)
    assert (spec.error_threshold, spec.mini_batch_error_threshold) == (5, 7)
    assert (spec.run_invocation_timeout, spec.run_max_try) == (100, 5)
    assert spec.source_directory == "parts/../src"
    assert spec.environment is not None
    assert spec.environment.python == "3.11"
    assert spec.arguments == ["--labels", "${{side_inputs.labels}}", "--limit", "0.25"]


def test_keys_of_the_job_win_also_when_they_are_0() -> None:
    raw = job(
        error_threshold=0,
        mini_batch_error_threshold=0,
        retry_settings={"max_retries": 0},
        resources={"instance_count": 1},
        environment_variables={"A": "job"},
    )
    raw["inputs"] |= {"limit": 0, "note": "x"}

    spec = read(raw, FILES)

    assert (spec.error_threshold, spec.mini_batch_error_threshold) == (0, 0)
    assert (spec.run_invocation_timeout, spec.run_max_try, spec.node_count) == (100, 1, 1)
    assert spec.environment_variables == {"A": "job", "B": "component"}
    assert spec.arguments[-4:] == ["--limit", "0", "--note", "x"]


def test_a_null_at_the_job_leaves_what_the_component_says() -> None:
    assert read(job(error_threshold=None), FILES).error_threshold == 5


def test_an_input_that_the_job_does_not_give_is_named() -> None:
    raw = job(inputs={"data": {"path": "/d"}})

    assert "inputs.labels.path: is required" in problems_of(raw, FILES)


def test_a_component_that_is_no_parallel_one_is_refused() -> None:
    files = {"parts/score.yml": "{type: command, command: ls}"}

    assert 'component.type: must be parallel (found: "command")' in problems_of(job(), files)
    files = {"parts/score.yml": COMPONENT + "component: other.yml"}
    assert "component.component: a component is made of no other one" in problems_of(
        job(), files
    )
    assert "component: cannot be read: no such file" in problems_of(job(), {})[0]


def test_an_optional_input_without_a_value_may_stand_in_optional_arguments_only() -> None:
    raw = job(description="about ${{inputs.note}}")

    assert problems_of(raw, FILES) == [
        'description: the optional input note has no value (found: "about ${{inputs.note}}")'
    ]
