"""What a job file of kind parallel_run_step may say, and what is answered when it may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core.problems import InvalidSpec
from runner.core.specs import dump_spec, parse_spec
from runner.core.specs.mini_batch_size import Bytes, Files, Rows
from runner.core.specs.parallel_run_step import ParallelRunStepSpec

FILES = [{"name": "scans", "path": "/data/scans"}]
TABLE = [{"name": "people", "type": "table", "path": "/data/people/*.csv"}]


def job(**changes: Any) -> dict[str, Any]:
    least = {
        "kind": "parallel_run_step",
        "name": "score-scans",
        "inputs": FILES,
        "entry_script": "score.py",
        "output_action": "append_row",
    }
    return {**least, **changes}


def problems_of(**changes: Any) -> list[str]:
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(job(**changes))
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run_max_try": 0}, "run_max_try: must be a whole number of at least 1 (found: 0)"),
        ({"mini_batch_size": 0}, "mini_batch_size: must be at least 1 (found: 0)"),
        ({"mini_batch_size": "-3"}, "must be at least 1"),
        ({"mini_batch_size": "10kbmb"}, "without blanks"),
        ({"mini_batch_size": "10 kb"}, "without blanks"),
        ({"mini_batch_size": "10k"}, "without blanks"),
        ({"mini_batch_size": "1.5mb"}, "without blanks"),
        ({"mini_batch_size": ""}, "without blanks"),
        ({"mini_batch_size": "10MB"}, "files are counted: give a number without unit"),
        ({"mini_batch_size": 5, "partition_keys": ["a"]}, "give one of mini_batch_size and"),
        ({"partition_keys": "Store"}, "partition_keys: must be a list of text"),
        ({"partition_keys": ["a", 3]}, "partition_keys[1]: must be a list of text (found: 3)"),
        ({"partition_keys": ["a", "a"]}, "without repeats"),
        ({"error_threshold": "5"}, "must be a whole number, -1 or more"),
        ({"error_threshold": 1.5}, "must be a whole number, -1 or more"),
        ({"error_threshold": True}, "must be a whole number, -1 or more"),
        ({"error_threshold": -2}, "must be a whole number, -1 or more (found: -2)"),
        ({"allowed_failed_percent": 100.5}, "must lie between 0 and 100"),
        ({"output_action": "file"}, "must be append_row or summary_only"),
        ({"logging_level": "TRACE"}, "must be WARNING, INFO or DEBUG"),
        ({"node_count": 0}, "must be a whole number of at least 1"),
        ({"append_row_file_name": "a/b.txt"}, "the character `/` is not allowed"),
        ({"append_row_file_name": ""}, "must not be empty"),
        (
            {"environment_variables": {"A": 1}},
            "environment_variables.A: must be text: quote it",
        ),
        ({"environment_variables": {"PRSWEB_A": "1"}}, "names beginning PRSWEB_ are ours"),
        ({"inputs": [{"name": "x", "path": 5}]}, "inputs[0].path: must be a path, a URL, a d"),
        ({"inputs": [*FILES, *TABLE]}, "all must be files or all tables (files: scans; table"),
        ({"inputs": []}, "inputs: is required"),
        ({"run_max_trys": 2}, "run_max_trys: not a known key, did you mean run_max_try?"),
        ({"arguments": ["--run_max_try", "3"]}, "is reserved: use the key run_max_try"),
        ({"arguments": ["x"]}, "the first argument must begin with -"),
        ({"arguments": ["--limit", 0.5]}, "arguments[1]: must be text: quote it"),
        ({"run_invocation_timeout": 259201}, "above 0, at most 259200 (found: 259201)"),
        ({"name": "Score"}, "name: must be 3-32 characters"),
        ({"mini_batch_size": "${{parameters.batch}}"}, "there is no parameters.batch"),
    ],
    ids=str,
)
def test_a_value_that_breaks_a_rule_is_refused_in_words(
    changes: dict[str, Any], words: str
) -> None:
    found = problems_of(**changes)

    assert len(found) == 1
    assert words in found[0]


def test_all_problems_are_told_at_once() -> None:
    found = problems_of(run_max_try=0, error_threshold=-2, output={"format": "xml"})

    assert len(found) == 3


@pytest.mark.parametrize(
    ("inputs", "written", "size"),
    [
        (FILES, None, Files(10)),
        (FILES, "7", Files(7)),
        (TABLE, None, Bytes(1024**2)),
        (TABLE, "10KB", Bytes(10240)),
        (TABLE, 20, Bytes(20)),
        (TABLE, "20rows", Rows(20)),
    ],
)
def test_the_size_is_read_by_the_type_of_the_input(
    inputs: list[dict[str, Any]], written: Any, size: Any
) -> None:
    spec = parse_spec(job(inputs=inputs, mini_batch_size=written)).spec

    assert isinstance(spec, ParallelRunStepSpec)
    assert spec.size() == size


def test_a_size_below_a_kilobyte_is_warned_of() -> None:
    parsed = parse_spec(job(inputs=TABLE, mini_batch_size=20))

    assert "20 rows is written 20rows" in parsed.warnings[0]


def test_a_parameter_gives_its_value_with_its_type() -> None:
    raw = job(parameters={"batch": 5}, mini_batch_size="${{parameters.batch}}")

    assert dump_spec(parse_spec(raw).spec)["mini_batch_size"] == 5


def test_what_was_given_is_told_from_defaults() -> None:
    given_keys = parse_spec(job(output={"format": "csv"})).given

    assert "output.format" in given_keys
    assert "run_max_try" not in given_keys


@given(
    run_max_try=st.integers(1, 2**31 - 1),
    error_threshold=st.integers(-1, 2**31 - 1),
    size=st.integers(1, 10**6),
    timeout=st.floats(0.001, 259_200),
    arguments=st.lists(st.text("abc-_ =\"'", min_size=1), max_size=4),
    tags=st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5), max_size=3),
)
def test_a_dumped_specification_reads_back_equal(
    run_max_try: int,
    error_threshold: int,
    size: int,
    timeout: float,
    arguments: list[str],
    tags: dict[str, str],
) -> None:
    raw = job(
        run_max_try=run_max_try,
        error_threshold=error_threshold,
        mini_batch_size=size,
        run_invocation_timeout=timeout,
        arguments=["--x", *arguments],
        tags=tags,
    )

    spec = parse_spec(raw).spec

    assert parse_spec(dump_spec(spec)).spec == spec
