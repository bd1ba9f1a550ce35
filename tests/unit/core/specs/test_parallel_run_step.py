"""What a job file of kind parallel_run_step may say, and what is answered when it may not."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import Bytes, Files, ParallelRunStepSpec, Rows, dump_spec, parse_spec
from tests.unit.core.specs.spec_jobs import FILES, TABLE, problems_of, step


def spec_of(**changes: Any) -> ParallelRunStepSpec:
    spec = parse_spec(step(**changes)).spec
    assert isinstance(spec, ParallelRunStepSpec)
    return spec


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run_max_try": 0}, "run_max_try: must be a whole number of at least 1 (found: 0)"),
        ({"run_max_try": 2**31}, "run_max_try: must be a whole number of at least 1"),
        (
            {"run_max_try": None},
            "run_max_try: must be a whole number of at least 1 (found: null)",
        ),
        ({"mini_batch_size": 0}, "mini_batch_size: must be at least 1 (found: 0)"),
        ({"mini_batch_size": -3}, "mini_batch_size: must be at least 1 (found: -3)"),
        ({"mini_batch_size": "0"}, 'mini_batch_size: must be at least 1 (found: "0")'),
        ({"mini_batch_size": "10kbmb"}, "without blanks"),
        ({"mini_batch_size": "10 kb"}, "without blanks"),
        ({"mini_batch_size": "10k"}, "without blanks"),
        ({"mini_batch_size": "1.5mb"}, "without blanks"),
        ({"mini_batch_size": 1.5}, "without blanks"),
        ({"mini_batch_size": True}, "without blanks"),
        ({"mini_batch_size": ""}, "without blanks"),
        ({"mini_batch_size": "9" * 5000}, "must be at most"),
        ({"mini_batch_size": "10MB"}, "files are counted: give a number without unit"),
        ({"mini_batch_size": "10rows"}, "files are counted: give a number without unit"),
        (
            {"inputs": TABLE, "mini_batch_size": 5, "partition_keys": ["Store"]},
            "mini_batch_size: give one of mini_batch_size and partition_keys: "
            "partition_keys makes one mini-batch per combination (found: 5)",
        ),
        ({"partition_keys": "Store"}, "partition_keys: must be a list of text"),
        ({"partition_keys": ["a", 3]}, "partition_keys[1]: must be text (found: 3)"),
        ({"partition_keys": ["a", "a"]}, "without repeats"),
        ({"partition_keys": []}, "not empty"),
        ({"partition_keys": ["user"]}, "is no key of input scans; its keys are none: set"),
        ({"error_threshold": "5"}, "must be a whole number, -1 or more: remove the quotes"),
        ({"error_threshold": 1.5}, "must be a whole number, -1 or more (found: 1.5)"),
        ({"error_threshold": True}, "must be a whole number, -1 or more (found: true)"),
        ({"error_threshold": -2}, "must be a whole number, -1 or more (found: -2)"),
        ({"allowed_failed_percent": 100.5}, "must lie between 0 and 100 (found: 100.5)"),
        ({"allowed_failed_percent": float("nan")}, "must lie between 0 and 100"),
        ({"output_action": "file"}, 'must be append_row or summary_only (found: "file")'),
        ({"logging_level": "TRACE"}, 'must be WARNING, INFO or DEBUG (found: "TRACE")'),
        ({"node_count": 0}, "must be a whole number of at least 1"),
        ({"process_count_per_node": 1025}, "must be a whole number from 1 to 1024"),
        ({"append_row_file_name": "a/b.txt"}, "the character `/` is not allowed"),
        ({"append_row_file_name": "a*b?.txt"}, "the characters `*` `?` are not allowed"),
        ({"append_row_file_name": ""}, "must not be empty"),
        ({"append_row_file_name": ".."}, "must be a file name"),
        ({"append_row_file_name": "é" * 128}, "must be at most 255 bytes"),
        ({"append_row_file_name": "a\tb"}, "must hold no control character"),
        (
            {"environment_variables": {"A": 1}},
            "environment_variables.A: must be text: quote it",
        ),
        ({"environment_variables": {"PRSWEB_A": "1"}}, "names beginning PRSWEB_ are ours"),
        ({"environment_variables": {"1A": "1"}}, "environment_variables.1A: the name must be"),
        ({"environment_variables": ["A"]}, "environment_variables: must be a map of names"),
        ({"inputs": [{"name": "x", "path": 5}]}, "inputs[0].path: must be a path, a URL, a d"),
        ({"inputs": [{"name": "x", "path": []}]}, "inputs[0].path: must be a path, a URL"),
        ({"inputs": [{"name": "x", "path": "azureml:a:3"}]}, "is written dataset:NAME@3"),
        ({"inputs": [{"name": "x", "path": "dataset:a@x"}]}, "dataset:NAME@3 for a version"),
        ({"inputs": [{"name": "x"}]}, "inputs[0]: needs a path (or rows)"),
        ({"inputs": [{"path": "/d"}]}, "inputs[0].name: is required"),
        ({"inputs": [{"name": "x", "rows": [{}]}]}, "rows are a table: set type: table"),
        (
            {"inputs": [{"name": "x", "path": "/d", "table": {"format": "csv"}}]},
            "only for type",
        ),
        (
            {"inputs": [*FILES, *TABLE]},
            "must be files or all tables (files: scans; table: people)",
        ),
        ({"inputs": [*FILES, *FILES]}, "inputs[1].name: every input needs a name of its own"),
        ({"inputs": []}, "inputs: is required"),
        ({"inputs": "/data"}, "inputs: must be a list of inputs"),
        ({"inputs": ["/data"]}, "inputs[0]: must be a map with name and path"),
        ({"run_max_trys": 2}, "run_max_trys: not a known key, did you mean run_max_try?"),
        ({"output": {"fromat": "csv"}}, "output.fromat: not a known key, did you mean format?"),
        (
            {"inputs": [{"name": "x", "pth": "/d"}]},
            "inputs[0].pth: not a known key, did you mean",
        ),
        ({"arguments": ["--limit", 0.5]}, "arguments[1]: must be text: quote it (found: 0.5)"),
        ({"arguments": 'say "'}, "arguments: cannot be split as a shell would"),
        ({"arguments": ["x"]}, "arguments[0]: the first argument must begin with -"),
        ({"run_invocation_timeout": 259201}, "above 0, at most 259200 (found: 259201)"),
        ({"run_invocation_timeout": 0}, "above 0, at most 259200 (found: 0)"),
        ({"run_invocation_timeout": 10**400}, "above 0, at most 259200"),
        ({"time_limit": 0}, "must be a number of seconds above 0"),
        ({"name": "Score"}, "name: must be 3-32 characters"),
        ({"name": "ab"}, "name: must be 3-32 characters"),
        (
            {"entry_script": "../score.py", "source_directory": "/s"},
            "must lie in source_directory",
        ),
        ({"entry_script": "my score.txt"}, "must be a .py file, or a dotted name"),
        ({"environment": {"python": 3.11}}, 'must be a version in quotes, "3.11"'),
        (
            {"side_inputs": {"labels": 5}},
            "side_inputs.labels: must be a path, or a map with path",
        ),
        ({"side_inputs": {"labels": ""}}, "side_inputs.labels: must be"),
        ({"side_inputs": {"my-labels": "/l"}}, "side_inputs.my-labels: the name must be"),
        ({"tags": {"team": 7}}, "tags.team: must be text: quote it (found: 7)"),
        ({"description": "a\0b"}, "description: holds the character U+0000"),
        ({"resume_from": "digits"}, "resume_from: must be a job id"),
        (
            {"allowed_failed_count": -2},
            "allowed_failed_count: must be a whole number, -1 or more",
        ),
        (
            {"allowed_failed_count": 2, "mini_batch_error_threshold": 3},
            "allowed_failed_count: is another name of mini_batch_error_threshold",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_value_that_breaks_a_rule_is_refused_in_words(
    changes: dict[str, Any], words: str
) -> None:
    found = problems_of(step(**changes))

    assert len([one for one in found if words in one]) == 1
    assert len(found) == 1 or "partition_keys" in changes


@pytest.mark.parametrize(
    "changes",
    [
        {"mini_batch_size": "20"},
        {"output_action": "Append_Row"},
        {"logging_level": "debug"},
        {"entry_script": "pkg.main", "source_directory": "/s"},
        {"entry_script": "score-a.py"},
        {"process_count_per_node": None},
        {"time_limit": None},
        {
            "inputs": [
                {"name": "x", "path": ["/a", "s3://b/c*", "dataset:d@3", "datastore:e/f"]}
            ]
        },
        {"inputs": [], "rank_mini_batch_count": 4},
        {"append_row_file_name": "My Out.TXT"},
        {"allowed_failed_count": 2, "mini_batch_error_threshold": 2},
    ],
    ids=str,
)
def test_what_keeps_the_rules_is_taken(changes: dict[str, Any]) -> None:
    assert parse_spec(step(**changes)).warnings == ()


def test_all_problems_are_told_at_once_in_the_order_of_the_keys() -> None:
    raw = step(
        error_threshold=-2,
        run_max_try=0,
        output={"format": "xml", "sep": "ab"},
        inputs=[*FILES, *TABLE],
        mini_batch_size="${{parameters.batch}}",
        environment_variables={"A": 1, "B": 2},
    )
    del raw["output_action"]

    paths = [one.partition(":")[0] for one in problems_of(raw)]

    assert paths == [
        "inputs",
        "error_threshold",
        "run_max_try",
        "output.format",
        "output.sep",
        "mini_batch_size",
        "environment_variables.A",
        "environment_variables.B",
        "output_action",
    ]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([], "must be a map"),
        ({}, "kind: is required: one of parallel_run_step, multi_node, command"),
        ({"kind": "paralel_run_step"}, "did you mean parallel_run_step?"),
        ({"kind": 5}, "kind: must be one of"),
        ({"type": "pipeline"}, "pipelines are not read yet"),
        ({"endpoint_name": "x"}, "a deployment of a batch endpoint"),
        ({"jobDefinitionName": "x"}, "AWS Batch JSON, which is not read yet"),
    ],
)
def test_what_is_no_job_of_ours_gets_one_clear_problem(raw: Any, words: str) -> None:
    (found,) = problems_of(raw)

    assert words in found


def test_a_document_that_nests_without_end_is_refused() -> None:
    inner: Any = "x"
    for _ in range(5000):
        inner = [inner]

    (found,) = problems_of(step(inputs=[{"name": "x", "rows": inner}]))

    assert "nested deeper than" in found


@pytest.mark.parametrize(
    ("inputs", "written", "size"),
    [
        (FILES, None, Files(10)),
        (FILES, "7", Files(7)),
        (TABLE, None, Bytes(1024**2)),
        (TABLE, "10KB", Bytes(10240)),
        (TABLE, "2mB", Bytes(2 * 1024**2)),
        (TABLE, "1gb", Bytes(1024**3)),
        (TABLE, 20, Bytes(20)),
        (TABLE, "20rows", Rows(20)),
    ],
)
def test_the_size_is_read_by_the_type_of_the_input(
    inputs: list[dict[str, Any]], written: Any, size: Any
) -> None:
    assert spec_of(inputs=inputs, mini_batch_size=written).size() == size


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inputs": TABLE, "mini_batch_size": 20}, "20 rows is written 20rows"),
        ({"progress_update_timeout": 5}, "one slow run() would end the job"),
        ({"rank_mini_batch_count": 4}, "inputs are ignored"),
        (
            {"rank_mini_batch_count": -1},
            "rank_mini_batch_count -1 is read as 0",
        ),
        ({"append_row_file_name": "r.csv"}, "separator ' '"),
        (
            {"arguments": ["--resource_monitor_interva", "5"]},
            "--resource_monitor_interva is passed to your script; "
            "did you mean --resource_monitor_interval?",
        ),
        (
            {
                "inputs": [
                    {
                        "name": "q",
                        "type": "table",
                        "path": "/d.sqlite",
                        "table": {"format": "sql", "query": "select 1"},
                    }
                ]
            },
            "input q is one mini-batch",
        ),
    ],
)
def test_what_is_odd_is_warned_of_and_runs(changes: dict[str, Any], words: str) -> None:
    (warning,) = parse_spec(step(**changes)).warnings

    assert words in warning


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 270),
        ({"run_invocation_timeout": 5, "task_overhead_timeout": 0.5}, 16.5),
        ({"run_invocation_timeout": 259_200}, 259_200),
        ({"progress_update_timeout": 100}, 100),
    ],
)
def test_the_limit_without_progress_follows_the_other_limits(
    changes: dict[str, Any], seconds: float
) -> None:
    assert spec_of(**changes).progress_timeout_seconds == seconds


def test_relative_paths_are_refused_where_no_folder_is_known() -> None:
    raw = step(
        inputs=[{"name": "scans", "path": ["/data", "scans/"]}],
        models={"m": "./m"},
        source_directory="src",
        output={"path": "out"},
    )

    found = problems_of(raw, paths_must_be_absolute=True)

    assert [one.partition(":")[0] for one in found] == [
        "inputs[0].path[1]",
        "models.m",
        "source_directory",
        "output.path",
    ]
    assert parse_spec(raw).warnings == ()


def test_the_dump_holds_every_key_with_the_value_in_effect() -> None:
    dumped = dump_spec(spec_of())

    assert set(dumped) == set(ParallelRunStepSpec.model_fields)
    assert dumped["mini_batch_size"] == 10
    assert dumped["progress_update_timeout"] == 270
    assert dumped["bindings"] == {"mini_batch_size": None, "progress_update_timeout": None}


def test_what_was_given_is_told_from_defaults() -> None:
    given = parse_spec(step(output={"format": "csv"})).given

    assert {"output.format", "inputs[0].path"} <= set(given)
    assert "run_max_try" not in given


def test_a_specification_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        spec_of().name = "other"


def test_partition_keys_come_from_the_format_of_the_path() -> None:
    scans = {"name": "scans", "path": "/d", "partition_format": "{user}/{day:yyyy/MM/dd}.wav"}

    spec = spec_of(inputs=[scans], partition_keys=["user", "day"])

    assert spec.inputs[0].path_names == ["user", "day"]


@pytest.mark.parametrize("text", ["user", "{user", "{1x}", "{a}/{a}", "{d:Q}", "{}"])
def test_what_is_no_partition_format_is_refused(text: str) -> None:
    scans = {"name": "scans", "path": "/d", "partition_format": text}

    (found,) = problems_of(step(inputs=[scans]))

    assert found.startswith("inputs[0].partition_format: ")


def test_invalid_spec_tells_all_in_one_line() -> None:
    with pytest.raises(InvalidSpec, match=r"node_count: .*; run_max_try: "):
        parse_spec(step(node_count=0, run_max_try=0))
