"""A step written as a file of Azure reads back equal; what the file cannot hold is named."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.core.problems import InvalidSpec
from runner.core.specs import (
    ParallelRunStepSpec,
    changed_fields,
    dump_spec,
    export_spec,
    load_job_file,
    parse_spec,
    write_job_file,
)
from runner.core.specs.azure.export import FORMATS, OURS, V1, V2
from tests.unit.core.specs.azure.azure_jobs import parsed, v1, v2

# No deadline: the machine is shared, and time is no pass mark.
read_back = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Every key with another value than its default, as far as they go together.
EVERY_KEY: dict[str, Any] = {
    "kind": "parallel_run_step",
    "name": "all-keys",
    "description": "Every key: 'set', # not a comment",
    "tags": {"team": "mail", "day": "2026-01-31", "no": "1e3"},
    "queue": "fast",
    "parameters": {"limit": 0.5, "seconds": 7},
    "inputs": [
        {
            "name": "scans",
            "path": "dataset:scans@3",
            "mode": "direct",
            "partition_format": "{user}/{day:yyyy/MM/dd}.wav",
            "ignore_unmatched": True,
        }
    ],
    "partition_keys": ["user"],
    "side_inputs": {"labels": "datastore:blob/labels/x.csv"},
    "models": {"mnist": "/models/mnist"},
    "arguments": [
        "--labels=${{side_inputs.labels}}",
        "--limit",
        "${{parameters.limit}}",
        "--model",
        "${{models.mnist}}",
        "--report",
        "${{outputs.report}}",
        "a b",
        "it's",
        "",
    ],
    "entry_script": "pkg/score.py",
    "source_directory": "/src",
    "environment": {"python": "3.11", "requirements": ["pillow==11.0.0", "numpy"]},
    "environment_variables": {"OMP_NUM_THREADS": "1", "L": "x${{parameters.limit}}"},
    "node_count": 2,
    "process_count_per_node": 3,
    "run_invocation_timeout": "${{parameters.seconds}}",
    "run_max_try": 5,
    "task_overhead_timeout": 31,
    "progress_update_timeout": 1000.5,
    "first_task_creation_timeout": 7200,
    "time_limit": 99,
    "error_threshold": 0,
    "mini_batch_error_threshold": 0,
    "allowed_failed_percent": 0,
    "output_action": "append_row",
    "append_row_file_name": "My Out.TXT",
    "output": {"format": "csv", "path": "/out", "overwrite": True, "sep": ";", "header": False},
    "outputs": {"report": {}, "more": {"path": "/more"}},
    "logging_level": "DEBUG",
    "resource_monitor_interval": 0,
    "sample_interval": 9,
    "profiling_module": "cProfile",
    "push_metrics_to_parent": True,
    "copy_logs_to_parent": True,
    "metrics_name_prefix": "a_",
    "script_sees_settings": False,
    "allow_reuse": False,
    "resume_from": "5b8c1c2e-0000-4000-8000-000000000001",
    "accept_changed_inputs": True,
}
NEVER_HELD_BY_V2 = {
    "output.format",
    "output.overwrite",
    "output.sep",
    "time_limit",
    "sample_interval",
    "script_sees_settings",
    "accept_changed_inputs",
}


def read(text: str) -> ParallelRunStepSpec:
    spec = parse_spec(load_job_file(text)).spec
    assert isinstance(spec, ParallelRunStepSpec)
    return spec


@pytest.mark.parametrize("file_format", [OURS, V1])
def test_every_key_is_held_by_our_file_and_by_a_v1_file(file_format: str) -> None:
    spec = parse_spec(EVERY_KEY).spec

    exported = export_spec(spec, file_format)

    assert exported.lost == ()
    assert read(exported.text) == spec


def test_a_v2_file_holds_all_but_what_is_named() -> None:
    job = copy.deepcopy(EVERY_KEY)
    del job["inputs"][0]["partition_format"], job["inputs"][0]["ignore_unmatched"]
    job["inputs"][0] |= {"type": "table", "mode": "local"}
    spec = parse_spec(job).spec

    exported = export_spec(spec, V2)

    assert set(exported.lost) == NEVER_HELD_BY_V2
    changed = changed_fields(dump_spec(spec), dump_spec(read(exported.text)))
    assert {one.path for one in changed} == NEVER_HELD_BY_V2
    assert "time_limit: 99 cannot be held by this format; it reads back as nothing." in (
        exported.warnings
    )


def test_a_v2_file_that_cannot_be_read_back_says_what_is_missing() -> None:
    exported = export_spec(parse_spec(EVERY_KEY).spec, V2)

    assert any(one.startswith("partition_keys[0]: ") for one in exported.warnings)


def test_a_reference_to_a_number_of_tries_is_written_as_its_value_in_v2() -> None:
    job = {**EVERY_KEY, "parameters": {**EVERY_KEY["parameters"], "tries": 4}}
    job |= {"run_max_try": "${{parameters.tries}}", "partition_keys": None}

    exported = export_spec(parse_spec(job).spec, V2)

    assert load_job_file(exported.text)["retry_settings"]["max_retries"] == 3
    assert "run_max_try: ${{parameters.tries}} is written as its value." in exported.warnings


@pytest.mark.parametrize("raw", [v1(), v2()], ids=["v1", "v2"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_the_least_files_are_held_by_every_format(
    raw: dict[str, Any], file_format: str
) -> None:
    spec = parsed(raw).spec

    exported = export_spec(spec, file_format)

    assert exported.lost == ()
    assert dump_spec(read(exported.text)) | {"mini_batch_size": 0} == dump_spec(spec) | {
        "mini_batch_size": 0
    }


def test_other_kinds_and_formats_are_refused() -> None:
    gang = parse_spec({"kind": "command", "name": "x", "command": ["true"]}).spec

    assert parse_spec(load_job_file(export_spec(gang).text)).spec == gang
    with pytest.raises(InvalidSpec, match="must be parallel_run_step"):
        export_spec(gang, V1)
    with pytest.raises(InvalidSpec, match="format: must be one of"):
        export_spec(gang, "xml")


TEXTS = st.text(max_size=12).filter(
    lambda text: "${{" not in text and "\0" not in text and text.isprintable()
)
PLAIN = st.one_of(
    TEXTS, st.sampled_from(["1e3", "010", "no", "~", "1:3", "2026-01-31", "-", "#", "= ", "'"])
)
NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
SECONDS = st.one_of(st.integers(1, 259_200), st.floats(0.001, 259_200))
COUNTS = st.integers(-1, 2**31 - 1)
STEPS = st.fixed_dictionaries(
    {"output_action": st.sampled_from(["append_row", "summary_only"])},
    optional={
        "description": PLAIN,
        "tags": st.dictionaries(TEXTS.filter(bool), PLAIN, max_size=3),
        "side_inputs": st.dictionaries(
            NAMES.map("s".__add__), st.sampled_from(["/l/x.csv", "dataset:a@2", "/f"])
        ),
        "models": st.dictionaries(NAMES.map("m".__add__), st.just("/m"), max_size=2),
        "arguments": st.lists(PLAIN, max_size=4).map(lambda rest: ["-x", *rest]),
        "environment": st.fixed_dictionaries(
            {},
            optional={
                "python": st.sampled_from(["3.11", "3.8.1", "/opt/bin/python"]),
                "requirements": st.lists(PLAIN, max_size=3),
                "build_timeout": SECONDS,
            },
        ),
        "environment_variables": st.dictionaries(NAMES, PLAIN, max_size=3),
        "mini_batch_size": st.integers(1, 10**9),
        "node_count": st.integers(1, 1000),
        "process_count_per_node": st.one_of(st.none(), st.integers(1, 1024)),
        "run_invocation_timeout": SECONDS,
        "run_max_try": st.integers(1, 2**31 - 1),
        "task_overhead_timeout": SECONDS,
        "progress_update_timeout": st.one_of(st.none(), SECONDS),
        "time_limit": st.one_of(st.none(), SECONDS),
        "error_threshold": COUNTS,
        "allowed_failed_count": COUNTS,
        "allowed_failed_percent": st.floats(0, 100),
        "append_row_file_name": st.sampled_from(["A b.txt", "x", ".y", "a.b.c"]),
        "output": st.fixed_dictionaries(
            {},
            optional={
                "format": st.sampled_from(["text", "csv", "jsonl"]),
                "path": st.sampled_from(["/out", "/a/b.c", "/"]),
                "header": st.booleans(),
            },
        ),
        "outputs": st.dictionaries(NAMES, st.sampled_from([{}, {"path": "/o"}]), max_size=2),
        "logging_level": st.sampled_from(["debug", "INFO", "Warning"]),
        "metrics_name_prefix": PLAIN,
        "allow_reuse": st.booleans(),
    },
)


@pytest.mark.parametrize("file_format", FORMATS)
@read_back
@given(changes=STEPS)
def test_any_step_reads_back_equal_but_for_what_is_named(
    file_format: str, changes: dict[str, Any]
) -> None:
    job = {"kind": "parallel_run_step", "name": "abc", "entry_script": "score.py", **changes}
    spec = parse_spec({**job, "inputs": [{"name": "scans", "path": "/data"}]}).spec

    exported = export_spec(spec, file_format)

    again = read(exported.text)
    lost = {one.path for one in changed_fields(dump_spec(spec), dump_spec(again))}
    assert lost == set(exported.lost)
    assert lost or again == spec
    if file_format == OURS:
        assert not lost
    if file_format == V1:
        assert all(path.startswith(("environment", "metrics_name_prefix")) for path in lost)


@read_back
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(10**20), 10**20) | PLAIN | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_value_that_is_written_reads_back(value: Any) -> None:
    assert load_job_file(write_job_file({"kind": "x", "value": value}))["value"] == value
