"""Arguments of the script, and those that are settings."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.specs import dump_spec, parse_spec
from runner.core.specs.step_arguments import RESERVED, SETTINGS
from tests.unit.core.specs.spec_jobs import TABLE, problems_of, step


def dumped(**changes: Any) -> dict[str, Any]:
    return dump_spec(parse_spec(step(**changes)).spec)


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_name_is_refused_with_the_key_to_use(name: str) -> None:
    spaced = problems_of(step(arguments=["--x", "1", f"--{name}", "3"]))
    joined = problems_of(step(arguments=[f"--{name}=3"]))

    assert spaced == [f"arguments[2]: --{name} is reserved: use the key {name}"]
    assert joined == [f"arguments[0]: --{name} is reserved: use the key {name}"]


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (["--task_overhead_timeout", "40"], "task_overhead_timeout", 40),
        (["--task_overhead_timeout=2.5"], "task_overhead_timeout", 2.5),
        (["--progress_update_timeout", "'40'"], "progress_update_timeout", 40),
        (["--first_task_creation_timeout", "7200"], "first_task_creation_timeout", 7200),
        (["--profiling_module", "cProfile"], "profiling_module", "cProfile"),
        (["--copy_logs_to_parent", "True"], "copy_logs_to_parent", True),
        (["--push_metrics_to_parent", "yes"], "push_metrics_to_parent", True),
        (["--metrics_name_prefix", "a_"], "metrics_name_prefix", "a_"),
        ("--rank_mini_batch_count 4", "rank_mini_batch_count", 4),
    ],
)
def test_a_setting_among_the_arguments_sets_its_key(
    arguments: Any, key: str, value: Any
) -> None:
    spec = dumped(arguments=arguments)

    assert spec[key] == value
    assert spec["arguments"] == []


def test_every_setting_is_a_key() -> None:
    assert set(SETTINGS) <= set(dumped())


def test_a_setting_out_of_range_is_refused_where_it_stands() -> None:
    found = problems_of(
        step(arguments=["--limit", "5", "--first_task_creation_timeout", "518400"])
    )

    assert found == [
        "arguments[2]: must be a number of seconds above 0, at most 259200 (found: 518400)"
    ]


def test_key_and_argument_that_differ_are_refused() -> None:
    arguments = ["--task_overhead_timeout", "40"]

    (found,) = problems_of(step(arguments=arguments, task_overhead_timeout=30))

    assert "arguments[0]: --task_overhead_timeout differs from the key" in found
    assert dumped(arguments=arguments, task_overhead_timeout=40)["task_overhead_timeout"] == 40


def test_all_other_arguments_belong_to_the_script_untouched() -> None:
    arguments = ["--model_name", "a b", "--output_dir=/x", "-v", "--task_overhead_timeout", "9"]

    assert dumped(arguments=arguments)["arguments"] == arguments[:4]


def test_one_text_is_split_as_a_shell_does() -> None:
    spec = dumped(
        arguments="--name 'a b' --limit=0.5 ${{ inputs.scans }}",
    )

    assert spec["arguments"] == ["--name", "a b", "--limit=0.5", "${{inputs.scans}}"]


def test_output_arguments_set_what_they_stand_for() -> None:
    arguments = "--append_row_dataframe_header True --amlbi_dataframe_mixed_types True"

    spec = dumped(arguments=arguments, inputs=TABLE)

    assert spec["output"]["header"] is True
    assert spec["inputs"][0]["table"]["types"] == "mixed"
    assert spec["arguments"] == []


def test_the_key_wins_over_an_output_argument_and_says_so() -> None:
    raw = step(arguments="--append_row_dataframe_header True", output={"header": False})

    parsed = parse_spec(raw)

    assert dump_spec(parsed.spec)["output"]["header"] is False
    assert "has no effect: output.header is set" in parsed.warnings[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--amlbi_async_mode true", "is not offered: the script must have run()"),
        ("--append_row_dataframe_header maybe", "must be True or False"),
        ("--task_overhead_timeout", "needs a value"),
    ],
)
def test_an_argument_that_cannot_be_taken_is_refused(arguments: str, words: str) -> None:
    (found,) = problems_of(step(arguments=arguments))

    assert words in found


def test_only_names_of_six_letters_or_more_are_taken_for_mistyped() -> None:
    assert parse_spec(step(arguments="--outpu x --limit 5")).warnings == ()
    assert len(parse_spec(step(arguments="--outputs x")).warnings) == 1
