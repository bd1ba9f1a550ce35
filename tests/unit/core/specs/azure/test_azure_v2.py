"""Reading v2 files of type parallel."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.specs import Bytes, Files, apply_settings, parse_spec
from tests.unit.core.specs.azure.azure_jobs import (
    parsed,
    problems_of,
    read,
    v2,
    v2_task,
    warnings_of,
)


def test_a_v2_job_is_read() -> None:
    found = parsed(v2())

    spec = read(v2())
    assert found.warnings == ()
    assert (spec.name, spec.queue) == ("score-scans", "cpu-cluster")
    assert (spec.inputs[0].name, spec.inputs[0].type) == ("scans", "files")
    assert spec.inputs[0].path == "/data/scans"
    assert spec.side_inputs["labels"].path == "/data/labels.csv"
    assert spec.parameters == {"limit": 0.5}
    assert spec.arguments == [
        "--labels",
        "${{side_inputs.labels}}",
        "--limit",
        "0.5",
        "--report",
        "${{outputs.report}}",
    ]
    assert list(spec.outputs) == ["report"]
    assert spec.size() == Files(4)
    assert (spec.node_count, spec.process_count_per_node) == (2, 3)
    assert (spec.run_invocation_timeout, spec.run_max_try) == (5, 2)
    assert (spec.error_threshold, spec.mini_batch_error_threshold) == (-1, -1)
    assert (spec.entry_script, spec.source_directory) == ("score.py", "/src")
    assert spec.output_action == "append_row"
    assert spec.append_row_file_name == "parallel_run_step.txt"
    assert spec.environment is not None
    assert spec.environment.python == "3.11"
    assert spec.environment.requirements == ["pillow==11.0.0"]


def test_what_is_left_out_is_the_default() -> None:
    raw = v2(
        mini_batch_size=...,
        resources=...,
        max_concurrency_per_instance=...,
        retry_settings=...,
        compute=...,
        outputs={"report": {}},
    )
    del raw["task"]["append_row_to"]

    spec = read(raw)

    assert spec.size() == Files(10)
    assert (spec.node_count, spec.process_count_per_node, spec.queue) == (1, None, "default")
    assert (spec.run_invocation_timeout, spec.run_max_try) == (60, 3)
    assert spec.output_action == "summary_only"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            "{retry_settings: {timeout: -1}}",
            "retry_settings.timeout: must be a number of seconds above 0, at most 259200 "
            "(found: -1)",
        ),
        (
            "{retry_settings: {max_retries: -1}}",
            "retry_settings.max_retries: must be a whole number of at least 0 (found: -1)",
        ),
        (
            "{retry_settings: {timout: 5}}",
            "retry_settings.timout: not a known key, did you mean timeout?",
        ),
        (
            "{mini_batch_siz: '5'}",
            "mini_batch_siz: not a known key, did you mean mini_batch_size?",
        ),
        (
            "{resources: {instance_cont: 5}}",
            "resources.instance_cont: not a known key, did you mean instance_count?",
        ),
        (
            "{resources: {instance_count: 0}}",
            "resources.instance_count: must be a whole number of at least 1 (found: 0)",
        ),
        (
            "{error_threshold: 1.5}",
            "error_threshold: must be a whole number, -1 or more (found: 1.5)",
        ),
        (
            "{error_threshold: x}",
            'error_threshold: must be a whole number, -1 or more (found: "x")',
        ),
        ("{mini_batch_size: '0'}", 'mini_batch_size: must be at least 1 (found: "0")'),
        ("{logging_level: TRACE}", "logging_level: must be WARNING, INFO or DEBUG"),
        (
            "{input_data: '${{inputs.scan}}'}",
            'input_data: not an input, did you mean scans? (found: "${{inputs.scan}}")',
        ),
        ("{input_data: scans}", "input_data: must name an input, as ${{inputs.NAME}}"),
        (
            "{input_data: '${{inputs.limit}}'}",
            "input_data: must name an input of type uri_file",
        ),
        ("{input_data: ~}", "input_data: is required: the input that is worked on"),
        (
            "{inputs: {scans: {type: uri_foldr, path: /a}}}",
            "inputs.scans.type: is no type of an input, did you mean uri_folder?",
        ),
        (
            "{inputs: {scans: {type: uri_folder, pth: /a}}}",
            "inputs.scans.pth: not a known key, did you mean path?",
        ),
        ("{inputs: {scans: {type: uri_folder}}}", "inputs.scans.path: is required"),
        (
            "{inputs: {scans: {type: uri_folder, path: 'azureml:a:b'}}}",
            "inputs.scans.path: must be a path, a URL, azureml:NAME:VERSION",
        ),
        (
            "{inputs: {scans: {type: uri_folder, path: 5}}}",
            "inputs.scans.path: must be a path, a URL, a dataset, rows",
        ),
        ("{outputs: {job_output_fil: {}}}", "there is no output job_output_file, did you mean"),
        ("{component: 'azureml:score:1'}", "component: is not registered here"),
        ("{component: ./score.yml}", "component: names a file beside this one"),
        ("{environment_variables: {PRSWEB_X: a}}", "environment_variables.PRSWEB_X: names"),
        ("{description: '${{parent.inputs.x}}'}", "is known in a pipeline only"),
        (
            "{description: '${{inputs.limits}}'}",
            "there is no input limits, did you mean inputs.l",
        ),
        ("{retry_settings: 5}", "retry_settings: must be a map (found: 5)"),
        ("{task: 5}", "task: must be a map (found: 5)"),
    ],
)
def test_a_problem_stands_at_the_writers_own_path(changes: str, problem: str) -> None:
    assert any(problem in one for one in problems_of(v2(changes))), problems_of(v2(changes))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"entry_script": ...}, "task.entry_script: is required"),
        (
            {"entry_scrip": "x.py"},
            "task.entry_scrip: not a known key, did you mean entry_script?",
        ),
        ({"type": "function"}, 'task.type: must be run_function (found: "function")'),
        ({"code": "azureml:code:1"}, "task.code: must be the path of a folder"),
        ({"environment": "azureml:env:1"}, "task.environment: is not registered here"),
        ({"append_row_to": "out.txt"}, "task.append_row_to: must name an output"),
        (
            {"program_arguments": "--x 1 --first_task_creation_timeout 518400"},
            "task.program_arguments[2]: must be a number of seconds above 0, at most 259200 "
            "(found: 518400)",
        ),
        (
            {"program_arguments": "--mini_batch_size 5"},
            "task.program_arguments[0]: --mini_batch_size differs from mini_batch_size",
        ),
        ({"program_arguments": "--output x"}, "--output is reserved, and has no key here"),
        ({"program_arguments": "--run_max_try"}, "--run_max_try needs a value"),
        ({"program_arguments": "--amlbi_async_mode true"}, "is not offered"),
        ({"program_arguments": "'"}, "task.program_arguments: cannot be split"),
        ({"program_arguments": "-x ${{inputs.label}}"}, "did you mean inputs.labels?"),
    ],
)
def test_a_problem_of_the_task_stands_at_its_path(
    changes: dict[str, Any], problem: str
) -> None:
    assert any(problem in one for one in problems_of(v2_task(**changes)))


def test_all_problems_are_told_together() -> None:
    raw = v2("{retry_settings: {timeout: -1, max_retry: 2}, error_threshold: 1.5, extra: 1}")

    assert len(problems_of(raw)) == 4


def test_a_value_from_an_input_is_checked_when_it_is_put_in() -> None:
    inputs = {"t": 5, "size": "4", "keys": "7", **v2()["inputs"]}
    raw = v2(
        inputs=inputs,
        mini_batch_size="${{inputs.size}}",
        retry_settings={"timeout": "${{inputs.t}}", "max_retries": 1},
        error_threshold="${{ inputs.keys }}",
    )

    spec = read(raw)
    changed = apply_settings(raw, {"parameters.t": "-1"})

    assert (spec.size(), spec.run_invocation_timeout, spec.run_max_try) == (Files(4), 5, 2)
    assert spec.error_threshold == 7
    assert problems_of(changed) == [
        "retry_settings.timeout: must be a number of seconds above 0, at most 259200; "
        "the value comes from parameters.t (found: -1)"
    ]
    raw["inputs"]["t"] = -1
    assert problems_of(raw) == [
        "retry_settings.timeout: must be a number of seconds above 0, at most 259200; "
        "the value comes from inputs.t (found: -1)"
    ]


def test_retries_from_an_input_are_taken_as_they_are_now() -> None:
    raw = v2(inputs={"n": "0", **v2()["inputs"]})
    raw["retry_settings"] = {"max_retries": "${{inputs.n}}"}

    assert read(raw).run_max_try == 1
    assert "retry_settings.max_retries: ${{inputs.n}} is taken as it is now" in warnings_of(raw)


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("azureml:scans:3", "dataset:scans@3"),
        ("azureml:scans@latest", "dataset:scans"),
        ("azureml:scans", "dataset:scans"),
        ("azureml://datastores/blob/paths/a/b/", "datastore:blob/a/b/"),
        (
            "azureml://subscriptions/1/resourcegroups/r/workspaces/w/datastores/d/paths/x",
            "datastore:d/x",
        ),
        ("abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
        ("https://a.example/x", "https://a.example/x"),
        ("file:./x", "./x"),
        ("./x", "./x"),
    ],
)
def test_names_of_data_become_ours(path: str, ours: str) -> None:
    inputs = {"scans": {"type": "uri_folder", "path": path}}

    spec = read(v2(inputs=inputs, task={**v2()["task"], "program_arguments": "-x"}))

    assert spec.inputs[0].path == ours


@pytest.mark.parametrize(
    ("mltable", "kind"),
    [
        (
            "paths: [{folder: ./x}]\ntransformations: [{read_delimited: {delimiter: ','}}]",
            "table",
        ),
        ("paths: [{folder: ./x}]\ntransformations: [read_parquet]", "table"),
        ("paths: [{pattern: ./*.png}]", "files"),
    ],
)
def test_an_mltable_is_a_table_if_it_reads_one(mltable: str, kind: str) -> None:
    raw = v2(inputs={**v2()["inputs"], "scans": {"type": "mltable", "path": "./tab"}})

    assert read(raw, {"tab/MLTable": mltable, "./tab/MLTable": mltable}).inputs[0].type == kind


def test_an_mltable_that_cannot_be_seen_is_taken_as_a_table() -> None:
    raw = v2(inputs={**v2()["inputs"], "scans": {"type": "mltable", "path": "/tab"}})
    del raw["mini_batch_size"]

    assert read(raw).size() == Bytes(1024**2)
    assert "inputs.scans.path: /tab/MLTable cannot be read here" in warnings_of(raw)


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ("{mini_batch_size: 4}", 'mini_batch_size: is text in this format: write "4".'),
        (
            "{mini_batch_size: 1KB}",
            "mini_batch_size: 1KB of a file input is read as 1024 files.",
        ),
        (
            "{resources: {instance_type: Standard_D2, shm_size: 2g}}",
            "resources.instance_type: has no effect",
        ),
        ("{identity: {type: managed}}", "identity: has no effect here"),
        ("{experiment_name: x}", "experiment_name: has no effect here"),
        (
            "{retry_settings: {timeout: ~}}",
            "retry_settings.timeout: null is read as the default.",
        ),
        ("{name: My Job!}", "name: 'My Job!' is no name here; the job is called my-job"),
        ("{name: ~}", "the file gives no name; the job is called score."),
        ("{environment_variables: {N: 1}}", "environment_variables.N: 1 is read as text."),
    ],
)
def test_what_has_another_meaning_here_is_warned_of(changes: str, warning: str) -> None:
    assert warning in warnings_of(v2(changes))


def test_partition_keys_win_over_a_size() -> None:
    raw = v2("{partition_keys: [Store]}")
    raw["inputs"]["scans"] = {"type": "mltable", "path": "azureml:sales:1"}

    spec = read(raw)

    assert (spec.partition_keys, spec.mini_batch_size) == (["Store"], None)
    assert "mini_batch_size: has no effect" in warnings_of(raw)


@pytest.mark.parametrize(
    ("path", "name", "folder"),
    [
        ("azureml://datastores/d/paths/out/My.TXT", "My.TXT", None),
        ("azureml://datastores/d/paths/out/", "parallel_run_step.txt", None),
        ("azureml://datastores/${{default_datastore}}/paths/${{name}}", None, None),
        ("/out/here/r.csv", "r.csv", "/out/here"),
    ],
)
def test_the_output_file_is_the_last_part_of_its_path(
    path: str, name: str | None, folder: str | None
) -> None:
    raw = v2()
    raw["outputs"]["job_output_file"]["path"] = path

    spec = read(raw)

    assert spec.append_row_file_name == (name or "parallel_run_step.txt")
    assert spec.output.path == folder
    assert ("outputs.job_output_file.path: is replaced" in warnings_of(raw)) == (folder is None)


def test_program_arguments_that_are_settings_set_their_keys() -> None:
    raw = v2_task(
        program_arguments="-f --error_threshold 5 --allowed_failed_count=2 "
        "--allowed_failed_percent '10.5' --first_task_creation_timeout 7200 "
        "--mini_batch_size 4 --append_row_dataframe_header True --limit 3"
    )

    spec = read(raw)

    assert (spec.error_threshold, spec.mini_batch_error_threshold) == (5, 2)
    assert (spec.allowed_failed_percent, spec.first_task_creation_timeout) == (10.5, 7200)
    assert spec.output.header is True
    assert spec.arguments == ["-f", "--limit", "3"]


def test_a_job_without_data_needs_no_input() -> None:
    raw = v2(inputs=..., input_data=..., mini_batch_size=..., outputs={"job_output_file": {}})
    raw["task"]["program_arguments"] = "--rank_mini_batch_count 4"

    assert read(raw).rank_mini_batch_count == 4


def test_models_are_inputs_of_a_model_type_or_the_tasks_model() -> None:
    raw = v2_task(
        model="azureml:mnist-net:2",
        program_arguments="--m ${{inputs.m}} --n ${{inputs.labels}}",
    )
    raw["inputs"]["m"] = {"type": "custom_model", "path": "/models/m"}

    spec = read(raw)

    assert {name: one.path for name, one in spec.models.items()} == {
        "m": "/models/m",
        "mnist_net": "dataset:mnist-net@2",
    }
    assert spec.arguments[1] == "${{models.m}}"


def test_a_setting_takes_the_place_of_what_the_file_says() -> None:
    raw = v2(input_data=..., retry_settings={"timeout": -1})

    with_input = apply_settings(
        raw, {"inputs.0.path": "/other", "inputs.0.name": "o", "run_invocation_timeout": "9"}
    )

    spec = parse_spec(with_input).spec
    assert spec.inputs[0].path == "/other"
    assert spec.run_invocation_timeout == 9


def test_pipelines_and_deployments_are_refused_in_words() -> None:
    assert "pipelines are not read yet" in problems_of({"type": "pipeline", "jobs": {}})[0]
    assert "batch endpoint" in problems_of({"endpoint_name": "e", "type": "model"})[0]


@pytest.mark.parametrize(
    ("kind", "mode", "ours", "is_warned"),
    [
        ("uri_folder", "direct", "direct", False),
        ("uri_folder", "ro_mount", "local", True),
        ("uri_folder", "download", "local", True),
        ("mltable", "direct", "local", False),
    ],
)
def test_modes_other_than_direct_are_local(
    kind: str, mode: str, ours: str, is_warned: bool
) -> None:
    raw = v2()
    raw["inputs"]["scans"] = {"type": kind, "path": "azureml:scans:1", "mode": mode}

    assert read(raw).inputs[0].mode == ours
    assert (f"inputs.scans.mode: {mode} is read as local" in warnings_of(raw)) == is_warned


def test_the_example_of_azures_own_pages_is_read() -> None:
    """Source: how-to-use-parallel-job-in-pipeline, its step as a file of its own."""
    raw = v2(
        """
inputs:
  input_data: {type: mltable, path: ./neural-iris-mltable, mode: direct}
  score_model: {type: uri_folder, path: ./iris-model, mode: download}
outputs:
  job_output_file: {type: uri_file, mode: rw_mount}
input_data: ${{inputs.input_data}}
mini_batch_size: "10kb"
resources: {instance_count: 2}
max_concurrency_per_instance: 2
logging_level: "DEBUG"
mini_batch_error_threshold: 5
retry_settings: {max_retries: 2, timeout: 60}
task:
  type: run_function
  code: "./script"
  entry_script: iris_prediction.py
  environment:
    name: "prs-env"
    version: 1
    image: mcr.example/openmpi
    conda_file: ./environment/environment_parallel.yml
  program_arguments: >-
    --model ${{inputs.score_model}}
    --error_threshold 5
    --allowed_failed_percent 30
    --task_overhead_timeout 1200
    --progress_update_timeout 600
    --first_task_creation_timeout 600
    --copy_logs_to_parent True
    --resource_monitor_interva 20
  append_row_to: ${{outputs.job_output_file}}
"""
    )
    files = {
        "./neural-iris-mltable/MLTable": "{transformations: [{read_delimited: {}}]}",
        "./environment/environment_parallel.yml": "{dependencies: [python=3.8, pandas]}",
    }

    spec = read(raw, files)

    assert (spec.inputs[0].type, spec.size()) == ("table", Bytes(10 * 1024))
    assert (spec.error_threshold, spec.mini_batch_error_threshold) == (5, 5)
    assert (spec.allowed_failed_percent, spec.task_overhead_timeout) == (30, 1200)
    assert spec.copy_logs_to_parent
    assert spec.arguments == [
        "--model",
        "${{side_inputs.score_model}}",
        "--resource_monitor_interva",
        "20",
    ]
    assert "did you mean --resource_monitor_interval?" in warnings_of(raw, files)
