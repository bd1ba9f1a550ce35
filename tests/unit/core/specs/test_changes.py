"""Settings of the command line and forms, and the differences of a resubmission."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import (
    apply_settings,
    changed_fields,
    dump_spec,
    parse_spec,
    resubmission_base,
)
from tests.unit.core.specs.spec_jobs import TABLE, multi_node, step

JOB = step(
    parameters={"batch": 5, "keys": ["Store", "Brand"], "limit": "0.5"},
    mini_batch_size="${{parameters.batch}}",
    arguments=["--limit", "${{parameters.limit}}"],
    side_inputs={"labels": "/labels"},
)
GANG = multi_node(2, "0", "1:", parameters={"steps": "100"})


def value_in(document: Any, path: str) -> Any:
    for part in path.replace("[", ".").replace("]", "").split("."):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("run_max_try", "5", 5),
        ("run_max_try", "five", "five"),
        ("run_max_try", "5.0", "5.0"),
        ("run_invocation_timeout", "2.5", 2.5),
        ("run_invocation_timeout", "60", 60),
        ("run_invocation_timeout", "${{parameters.t}}", "${{parameters.t}}"),
        ("allow_reuse", "no", False),
        ("allow_reuse", "True", True),
        ("name", "123", "123"),
        ("description", "", ""),
        ("mini_batch_size", "7", 7),
        ("mini_batch_size", "10KB", "10KB"),
        ("inputs.0.path", "/data/b", "/data/b"),
        ("inputs[0].path", "/data/b", "/data/b"),
        ("inputs.0.path", '["/a", "/b"]', ["/a", "/b"]),
        ("inputs.0.table.types", '{"a": "int"}', {"a": "int"}),
        ("inputs.0.table.types.a", "int", "int"),
        ("inputs.1.path", "/data/c", "/data/c"),
        ("inputs.0.table.quoted_newlines", "false", False),
        ("parameters.batch", "50", 50),
        ("parameters.batch", "10KB", "10KB"),
        ("parameters.keys", "Store", ["Store"]),
        ("parameters.keys", '["Store","Week"]', ["Store", "Week"]),
        ("parameters.limit", "0.7", "0.7"),
        ("parameters.fresh", "7", "7"),
        ("output.format", "csv", "csv"),
        ("output.sep", ",", ","),
        ("partition_keys", "Store,Brand", ["Store", "Brand"]),
        ("partition_keys", '["Store","Week"]', ["Store", "Week"]),
        ("tags.team", "7", "7"),
        ("tags", '{"a": "1"}', {"a": "1"}),
        ("environment_variables.A", "1", "1"),
        ("environment.python", "3.11", "3.11"),
        ("environment.requirements", "numpy,pandas", ["numpy", "pandas"]),
        ("arguments", "--x 5", "--x 5"),
        ("arguments", '["--x", "5"]', ["--x", "5"]),
        ("arguments.1", "0.9", "0.9"),
        ("side_inputs.labels.path", "/l", "/l"),
        ("side_inputs.labels.stage", "copy", "copy"),
        ("side_inputs.fresh", "/f", "/f"),
        ("allowed_failed_count", "3", 3),
    ],
)
def test_text_becomes_a_value_by_the_type_of_its_key(path: str, text: str, value: Any) -> None:
    changed = value_in(apply_settings(JOB, {path: text}), path)

    assert changed == value
    assert type(changed) is type(value)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("nodes", "8", 8),
        ("node_groups.1.command", "echo hi", "echo hi"),
        ("node_groups.1.command", '["echo", "hi"]', ["echo", "hi"]),
        ("node_groups.1.environment.A", "1", "1"),
        ("node_groups.0.memory", "512", 512),
        ("parameters.steps", "200", "200"),
        ("retry.attempts", "3", 3),
        ("retry.evaluate_on_exit.0.on_exit_code", "42", "42"),
        ("timeout", "90", 90),
    ],
)
def test_text_becomes_a_value_in_a_multi_node_job_too(path: str, text: str, value: Any) -> None:
    changed = value_in(apply_settings(GANG, {path: text}), path)

    assert changed == value
    assert type(changed) is type(value)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("run_max_trys", "did you mean run_max_try?"),
        ("inputs.0.pth", "did you mean path?"),
        ("inputs.3.path", "there is 1 entry, counted from 0"),
        ("inputs.first.path", "is named by its number"),
        ("run_max_try.x", "is one value: set it as a whole"),
        ("side_inputs.labels.stages", "did you mean stage?"),
        ("bindings", "not a known key"),
        ("", "must be a key"),
        ("a..b", "must be a key"),
        ("inputs[x]", "must be a key"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        apply_settings(JOB, {path: "5"})

    assert words in str(refused.value)


def test_an_empty_text_takes_an_optional_value_away() -> None:
    raw = step(inputs=TABLE, mini_batch_size="10KB", time_limit=5)

    changed = apply_settings(
        raw, {"mini_batch_size": "", "time_limit": "", "partition_keys": "a"}
    )

    assert "mini_batch_size" not in changed
    assert parse_spec(changed).warnings == ()


def test_values_of_the_api_are_taken_as_they_are() -> None:
    assert apply_settings(JOB, {"run_max_try": 5, "tags": {"a": "b"}})["tags"] == {"a": "b"}


def test_what_is_changed_is_a_copy() -> None:
    apply_settings(JOB, {"inputs.0.path": "/other"})

    assert JOB["inputs"][0]["path"] == "/data/scans"


def test_a_changed_parameter_works_in_a_resubmission() -> None:
    earlier = dump_spec(parse_spec(JOB).spec)

    changes = {"parameters.batch": "50", "parameters.limit": "0.7"}
    later = dump_spec(parse_spec(apply_settings(resubmission_base(earlier), changes)).spec)

    assert earlier["mini_batch_size"] == 5
    assert [(one.path, one.old, one.new) for one in changed_fields(earlier, later)] == [
        ("parameters.batch", 5, 50),
        ("parameters.limit", "0.5", "0.7"),
        ("mini_batch_size", 5, 50),
        ("arguments", ["--limit", "0.5"], ["--limit", "0.7"]),
    ]


def test_a_key_set_itself_no_longer_follows_its_parameter() -> None:
    earlier = dump_spec(parse_spec(JOB).spec)

    changes = {"mini_batch_size": "7", "parameters.batch": "50"}
    later = dump_spec(parse_spec(apply_settings(earlier, changes)).spec)

    assert later["mini_batch_size"] == 7


def test_values_that_follow_others_follow_them_in_a_resubmission() -> None:
    earlier = dump_spec(parse_spec(step()).spec)

    changes = {"inputs.0.type": "table", "run_invocation_timeout": "100"}
    later = dump_spec(parse_spec(apply_settings(earlier, changes)).spec)

    assert earlier["mini_batch_size"] == 10
    assert later["mini_batch_size"] == "1MB"
    assert later["progress_update_timeout"] == 390


def test_nothing_differs_between_a_job_and_itself() -> None:
    dumped = dump_spec(parse_spec(JOB).spec)

    assert changed_fields(dumped, dumped) == []


def test_entries_of_a_list_of_maps_are_compared_one_by_one() -> None:
    old = dump_spec(parse_spec(GANG).spec)
    new = dump_spec(parse_spec(apply_settings(GANG, {"node_groups.1.command": "ls"})).spec)

    assert [one.to_dict() for one in changed_fields(old, new)] == [
        {"path": "node_groups[1].command", "old": ["true"], "new": ["sh", "-c", "ls"]}
    ]


def test_true_and_one_differ() -> None:
    assert len(changed_fields({"a": True}, {"a": 1})) == 1
