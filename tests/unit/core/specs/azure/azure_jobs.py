"""The least files of Azure that are valid; a test changes what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import (
    ParallelRunStepSpec,
    ParsedSpec,
    UnreadableFile,
    import_document,
    load_job_file,
    parse_spec,
)

V2 = """
$schema: https://azuremlschemas.azureedge.net/latest/parallelJob.schema.json
type: parallel
name: score-scans
compute: azureml:cpu-cluster
inputs:
  scans: {type: uri_folder, path: /data/scans}
  labels: {type: uri_file, path: /data/labels.csv}
  limit: 0.5
outputs:
  job_output_file: {type: uri_file}
  report: {type: uri_folder}
input_data: ${{inputs.scans}}
mini_batch_size: "4"
resources: {instance_count: 2}
max_concurrency_per_instance: 3
retry_settings: {max_retries: 1, timeout: 5}
task:
  type: run_function
  code: /src
  entry_script: score.py
  program_arguments: >-
    --labels ${{inputs.labels}} --limit ${{inputs.limit}} --report ${{outputs.report}}
  append_row_to: ${{outputs.job_output_file}}
  environment: {conda_file: {dependencies: [python=3.11, {pip: [pillow==11.0.0]}]}}
"""
V1 = """
parallel_run_config:
  source_directory: /src
  entry_script: score.py
  mini_batch_size: "5"
  error_threshold: 10
  output_action: append_row
  compute_target_name: cpu-cluster
  node_count: 2
  environment: {python: {condaDependencies: {dependencies: [{pip: [pillow]}]}}}
parallel_run_step:
  name: score-scans
  inputs: [{name: scans, path: /data/scans}]
"""


def v2(text: str = "", **changes: Any) -> dict[str, Any]:
    """Return the least v2 job with ``changes``; a value of ``...`` takes the key away."""
    return _changed(load_job_file(V2), {**load_job_file(text or "{}"), **changes})


def v2_task(**changes: Any) -> dict[str, Any]:
    return v2(task=_changed(load_job_file(V2)["task"], changes))


def v1(step: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    file = load_job_file(V1)
    file["parallel_run_config"] = _changed(file["parallel_run_config"], changes)
    file["parallel_run_step"] = _changed(file["parallel_run_step"], step or {})
    return file


def _changed(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in {**base, **changes}.items() if one is not ...}


def parsed(raw: Mapping[str, Any], files: Mapping[str, str] | None = None) -> ParsedSpec:
    """Return what the file is; ``files`` are those that lie beside it."""
    return parse_spec(import_document(raw, None if files is None else reader(files)))


def read(raw: Mapping[str, Any], files: Mapping[str, str] | None = None) -> ParallelRunStepSpec:
    spec = parsed(raw, files).spec
    assert isinstance(spec, ParallelRunStepSpec)
    return spec


def problems_of(raw: Mapping[str, Any], files: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(InvalidSpec) as refused:
        parsed(raw, files)
    return [str(problem) for problem in refused.value.problems]


def warnings_of(raw: Mapping[str, Any], files: Mapping[str, str] | None = None) -> str:
    return "\n".join(parsed(raw, files).warnings)


def reader(files: Mapping[str, str]) -> Any:
    def read_file(path: str) -> str:
        try:
            return files[path]
        except KeyError:
            raise UnreadableFile("cannot be read: no such file") from None

    return read_file
