from __future__ import annotations

from runner.core.secret_values import mask_arguments, mask_spec


def test_secret_looking_values_are_hidden_and_others_are_not() -> None:
    spec = {
        "environment_variables": {"DB_PASSWORD": "x", "OMP_NUM_THREADS": "1"},
        "parameters": {"api_token": "x", "batch": 5},
        "arguments": ["--api-token", "x", "--limit", "3"],
    }

    shown = mask_spec(spec)

    assert shown["environment_variables"] == {"DB_PASSWORD": "***", "OMP_NUM_THREADS": "1"}
    assert shown["parameters"] == {"api_token": "***", "batch": 5}
    assert shown["arguments"] == ["--api-token", "***", "--limit", "3"]
    assert spec["environment_variables"]["DB_PASSWORD"] == "x"


def test_both_spellings_of_an_argument_are_hidden() -> None:
    assert mask_arguments(["--password=x", "--secret", "y", "--secret", "--verbose"]) == [
        "--password=***",
        "--secret",
        "***",
        "--secret",
        "--verbose",
    ]
