"""References to parameters, and names that are known when the job starts."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.placeholders import fill_placeholders
from runner.core.specs import dump_spec, parse_spec
from tests.unit.core.specs.spec_jobs import TABLE, problems_of, step


def dumped(**changes: Any) -> dict[str, Any]:
    return dump_spec(parse_spec(step(**changes)).spec)


@pytest.mark.parametrize(
    ("key", "template", "value", "bound"),
    [
        ("mini_batch_size", "${{parameters.x}}", 20, 20),
        ("mini_batch_size", "${{ parameters.x }}", "20", "20"),
        ("run_invocation_timeout", "${{parameters.x}}", 2.5, 2.5),
        ("allow_reuse", "${{parameters.x}}", False, False),
        ("description", "size ${{parameters.x}}!", 20, "size 20!"),
        ("metrics_name_prefix", "${{parameters.x}}-${{parameters.x}}", "a", "a-a"),
        ("arguments", ["--limit", "${{parameters.x}}"], 0.5, ["--limit", "0.5"]),
        ("arguments", "--flag=${{ parameters.x }}", True, ["--flag=True"]),
        ("environment_variables", {"A": "${{parameters.x}}"}, 1, {"A": "1"}),
    ],
)
def test_a_parameter_is_put_in_with_the_type_that_belongs_there(
    key: str, template: Any, value: Any, bound: Any
) -> None:
    spec = dumped(parameters={"x": value}, **{key: template})

    assert spec[key] == bound
    assert type(spec[key]) is type(bound)


@pytest.mark.parametrize("value", [["Store", "Brand"], "Store,Brand", '["Store", "Brand"]'])
def test_partition_keys_may_be_the_text_of_a_parameter(value: Any) -> None:
    spec = dumped(
        parameters={"keys": value}, partition_keys="${{parameters.keys}}", inputs=TABLE
    )

    assert spec["partition_keys"] == ["Store", "Brand"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"parameters": {"batch": 5}, "mini_batch_size": "${{parameters.bach}}"},
            "mini_batch_size: there is no parameters.bach, did you mean parameters.batch?",
        ),
        (
            {"mini_batch_size": "${{parameters.batch}}"},
            "there is no parameters.batch; parameters has no names",
        ),
        ({"description": "${{params.x}}"}, "there is no params.x; references name parameters,"),
        ({"description": "${{parameters}}"}, "${{parameters}} is no reference"),
        ({"description": "${{parameters.x"}, "${{parameters.x is no reference"),
        (
            {"arguments": ["--l", "${{side_inputs.labls}}"], "side_inputs": {"labels": "/l"}},
            "arguments[1]: there is no side_inputs.labls, did you mean side_inputs.labels?",
        ),
        (
            {"description": "${{inputs.scans}}"},
            "inputs.scans is known when the job starts: it may stand in arguments and",
        ),
        (
            {"parameters": {"x": [1]}, "arguments": ["--x", "${{parameters.x}}"]},
            "arguments[1]: takes a single value, and parameters.x holds several",
        ),
        (
            {"parameters": {"x": {"a": 1}}},
            "parameters.x: must be text, a number, true or false",
        ),
        ({"parameters": {"x": "a\nb"}}, "parameters.x: must hold no line break"),
        ({"parameters": {"x": "${{inputs.scans}}"}}, "must be a value, not a reference"),
        ({"parameters": {"a-b": 1}}, "parameters.a-b: the name must be letters, digits and _"),
    ],
    ids=str,
)
def test_a_reference_that_names_nothing_is_refused(changes: dict[str, Any], words: str) -> None:
    (found,) = problems_of(step(**changes))

    assert words in found


def test_a_value_that_breaks_a_rule_says_which_parameter_it_comes_from() -> None:
    raw = step(parameters={"t": -1}, run_invocation_timeout="${{parameters.t}}")

    assert problems_of(raw) == [
        "run_invocation_timeout: must be a number of seconds above 0, at most 259200; "
        "the value comes from parameters.t (found: -1)"
    ]


def test_names_known_when_the_job_starts_stay_until_then() -> None:
    spec = dumped(
        arguments=["--a", "${{inputs.scans}}", "--b=${{side_inputs.l}}/${{outputs.r}}"],
        side_inputs={"l": "/labels"},
        outputs={"r": {}},
    )

    values = {"inputs": {"scans": "/data"}, "side_inputs": {"l": "/node/l"}}
    filled = [fill_placeholders(text, values) for text in spec["arguments"]]

    assert filled == ["--a", "/data", "--b=/node/l/${{outputs.r}}"]


def test_rows_are_data_and_hold_no_references() -> None:
    table = {"name": "t", "type": "table", "rows": [{"a": "${{parameters.x}}"}]}

    assert dumped(inputs=[table])["inputs"][0]["rows"] == [{"a": "${{parameters.x}}"}]
