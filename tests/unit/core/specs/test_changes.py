"""Settings of the command line and forms, and the differences of a resubmission."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import (
    apply_settings,
    changed_fields,
    dump_spec,
    load_job_file,
    parse_spec,
    resubmission_base,
)

JOB: dict[str, Any] = {
    "kind": "parallel_run_step",
    "name": "score-scans",
    "inputs": [{"name": "scans", "path": "/data/scans"}],
    "parameters": {"batch": 5},
    "mini_batch_size": "${{parameters.batch}}",
    "entry_script": "score.py",
    "output_action": "append_row",
}


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("run_max_try", "5", 5),
        ("run_invocation_timeout", "2.5", 2.5),
        ("allow_reuse", "no", False),
        ("inputs.0.path", "/data/b", "/data/b"),
        ("inputs[0].path", "/data/b", "/data/b"),
        ("parameters.batch", "50", 50),
        ("output.format", "csv", "csv"),
        ("partition_keys", "Store,Brand", ["Store", "Brand"]),
        ("partition_keys", '["Store","Week"]', ["Store", "Week"]),
        ("tags.team", "7", "7"),
        ("side_inputs.labels.path", "/l", "/l"),
    ],
)
def test_text_becomes_a_value_by_the_type_of_its_key(path: str, text: str, value: Any) -> None:
    changed = apply_settings(JOB, {path: text})

    at: Any = changed
    for part in path.replace("[", ".").replace("]", "").split("."):
        at = at[int(part)] if part.isdecimal() else at[part]
    assert at == value
    assert type(at) is type(value)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("run_max_trys", "did you mean run_max_try?"),
        ("inputs.0.pth", "did you mean path?"),
        ("inputs.3.path", "there are 1 entries, counted from 0"),
        ("", "must be a key"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        apply_settings(JOB, {path: "5"})

    assert words in str(refused.value)


def test_a_changed_parameter_works_in_a_resubmission() -> None:
    earlier = dump_spec(parse_spec(JOB).spec)

    base = resubmission_base(earlier, JOB)
    later = dump_spec(parse_spec(apply_settings(base, {"parameters.batch": "50"})).spec)

    assert earlier["mini_batch_size"] == 5
    assert later["mini_batch_size"] == 50
    assert [(c.path, c.old, c.new) for c in changed_fields(earlier, later)] == [
        ("parameters.batch", 5, 50),
        ("mini_batch_size", 5, 50),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "line 2, column 1: is no YAML: the key a stands twice"),
        ("a: &x [1]\nb: *x", "aliases are not allowed"),
        ("a: [1\nb", "line 2"),
        ("- 1", "must be a map"),
        ("", "must be a map"),
        ("a: " + "[" * 60 + "]" * 60, "nested deeper"),
        ("1: 2", "must be text"),
    ],
)
def test_a_file_that_is_no_job_file_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        load_job_file(text)

    assert words in str(refused.value)
