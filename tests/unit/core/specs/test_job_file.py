"""Reading the text of a job file."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import load_job_file


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1:3", "1:3"),
        ("0:", "0:"),
        ("010", 10),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("2026-01-31", "2026-01-31"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-1", -1),
        ("~", None),
        ("", None),
        ('"5"', "5"),
        ("3.11", 3.11),
        (".nan", ".nan"),
        ("{a: [1, b]}", {"a": [1, "b"]}),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_values_are_those_of_json(written: str, value: Any) -> None:
    text = f'"{written}"' if written == "0:" else written

    found = load_job_file(f"kind: x\nvalue: {text}\n")["value"]

    assert found == value
    assert type(found) is type(value)


def test_a_file_in_braces_is_json_or_yaml() -> None:
    assert load_job_file('{"kind": "x", "a": [1, null]}') == {"kind": "x", "a": [1, None]}
    assert load_job_file("{kind: x, a: [1, ~]}") == {"kind": "x", "a": [1, None]}
    assert load_job_file('{\n\t"kind": "x"}') == {"kind": "x"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "line 2, column 1: is no YAML: the key a stands twice"),
        ("a:\n  b: 1\n  b: 2", "line 3, column 3: is no YAML: the key b stands twice"),
        ('{"a": 1, "a": 2}', "the key a stands twice"),
        ('{"a": NaN}', "NaN is no number"),
        ("a: &x [1]\nb: *x", "line 2, column 4: is no YAML: aliases are not allowed"),
        ("a: [1\nb", "is no YAML: "),
        ("a: 1\n\tb: 2", "line 2"),
        ("a: !!python/object:os.system x", "is not known here"),
        ("a: !!timestamp 2026-01-31", "is not known here"),
        ("--- {a: 1}\n--- {b: 2}", "is no YAML"),
        ("- 1", "must be a map"),
        ("5", "must be a map of keys to values, beginning with kind: (found: 5)"),
        ("", "must be a map"),
        ("a: " + "[" * 60 + "]" * 60, "nested deeper"),
        ("[" * 100_000, "nested deeper"),
        ("1: 2", "the key 1 must be text: quote it"),
        ("? [a]\n: 1", "must be text: quote it"),
        ("a: " + "9" * 5000, "a number has at most 30 digits"),
        ("a: \x01", "is no YAML"),
        ("a: " + "x" * 4 * 1024**2, "the file is larger than 4 MiB"),
        ("a: [" + "1," * 600_000 + "]", "more than 500000 values"),
        ('[{"jobDefinition": "x"}]', "AWS Batch JSON, which is not read yet"),
    ],
    ids=lambda value: value[:40],
)
def test_a_file_that_is_no_job_file_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        load_job_file(text)

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
