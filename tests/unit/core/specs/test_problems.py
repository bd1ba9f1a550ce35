"""How a problem reads, and which name was probably meant."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import (
    Problem,
    edit_distance_is_at_most,
    found_text,
    nearest_name,
    unknown_name_rule,
)


def test_a_problem_reads_where_rule_found() -> None:
    problem = Problem("run_max_try", "must be a whole number of at least 1", "0")

    assert str(problem) == "run_max_try: must be a whole number of at least 1 (found: 0)"
    assert str(Problem("", "must be a map")) == "must be a map"
    assert problem.to_dict()["found"] == "0"


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, "5"), ("5", '"5"'), (True, "true"), (None, "null"), ("é", '"é"'), ([1], "[1]")],
)
def test_a_found_value_is_shown_as_it_would_be_written(value: Any, text: str) -> None:
    assert found_text(value) == text


def test_a_long_found_value_is_cut() -> None:
    assert len(found_text("x" * 1000)) == 201
    assert found_text(10**5000) == "a int"


def test_the_nearest_name_is_offered_or_all_of_them() -> None:
    assert nearest_name("Run_Max_Trys", ["name", "run_max_try"]) == "run_max_try"
    assert nearest_name("zzz", ["name", "run_max_try"]) is None
    assert unknown_name_rule("zzz", ["a", "b"]) == "not a known key; the keys here are a, b"


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("abc", "abc", 0), ("abc", "abd", 1), ("abc", "ab", 1), ("abc", "xbcd", 2), ("", "ab", 2)],
)
def test_the_distance_of_two_words_counts_letters(
    first: str, second: str, distance: int
) -> None:
    assert edit_distance_is_at_most(distance, first, second)
    assert distance == 0 or not edit_distance_is_at_most(distance - 1, first, second)
