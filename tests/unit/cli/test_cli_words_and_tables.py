"""What people read: durations, sizes, aligned rows, states as words."""

from __future__ import annotations

import pytest

from prsweb.cli.job_text import job_text, jobs_table, outcome_text
from prsweb.cli.table import Column, render
from prsweb.cli.waiting import progress_text
from prsweb.cli.words import byte_size, duration, state_word

JOB = {
    "id": "9f1c2b7e-0000-4000-8000-000000000001",
    "name": "digits",
    "kind": "parallel_run_step",
    "state": "FAILED",
    "cancelling": False,
    "owner": "alice",
    "mini_batches": 90,
    "items": 1797,
    "succeeded_items": 1700,
    "failed_items": 97,
    "submitted_at": "2026-01-31T09:15:02.123Z",
    "seconds": 4.25,
    "reason": "12 items failed, error_threshold is 10",
    "url": "http://127.0.0.1:8000/jobs/9f1c2b7e/",
    "headline": {"text": "Failed: 12 items failed."},
    "progress": {"done_percent": 50.0, "succeeded": 40, "partial": 0, "failed": 5},
    "warnings": ["one slow run() would end the job"],
    "top_errors": [
        {
            "title": "ValueError: bad header",
            "place": "score.py:42",
            "count": 30,
            "mini_batches": 10,
            "nodes": ["n1"],
            "traceback": "Traceback …\nValueError: bad header",
        }
    ],
}


def test_a_failed_job_is_a_row_that_grep_finds() -> None:
    done = JOB | {"state": "SUCCEEDED", "name": "iris", "reason": "all were processed"}

    lines = jobs_table([JOB, done]).splitlines()

    [failed] = [line for line in lines if "Failed" in line]
    assert "digits" in failed and "error_threshold is 10" in failed
    [succeeded] = [line for line in lines if "Succeeded" in line]
    assert "all were processed" not in succeeded
    assert len({len(line.split("STATE")[0]) for line in lines[:1]}) == 1


def test_show_gives_the_sentence_first_and_the_place_of_the_error() -> None:
    text = job_text(JOB)

    assert text.startswith("Failed: 12 items failed.")
    assert "30 x ValueError: bad header at score.py:42 (mini-batches: 10, nodes: n1)" in text
    assert "    ValueError: bad header" in text
    assert "Warning:        one slow run() would end the job" in text


def test_the_last_words_of_a_failed_job_name_reason_and_first_error() -> None:
    text = outcome_text(JOB)

    assert "Reason: 12 items failed" in text
    assert "score.py:42" in text
    assert "./prs show 9f1c2b7e" in text


def test_an_error_without_a_place_names_none_and_the_advice_follows() -> None:
    group = {"count": 18, "title": "run() returned NoneType", "nodes": ["n2", "n1"]}

    text = outcome_text(JOB | {"top_errors": [group]}, next_step="return a list")

    assert "  18 x run() returned NoneType (mini-batches: -, nodes: n1, n2)\n" in text
    assert "  What to do next: return a list\n" in text


def test_a_job_without_mini_batches_shows_its_state_and_time() -> None:
    ring = JOB | {"name": "ring", "kind": "multi_node", "mini_batches": None, "progress": None}

    assert progress_text(ring) == "ring         Failed, 4.2 s"


def test_progress_counts_mini_batches_with_an_outcome() -> None:
    text = progress_text(JOB | {"state": "RUNNING"})

    assert "[###############...............]  50 %  45 of 90 mini-batches" in text
    assert "97 items failed" in text


def test_a_job_that_is_being_cancelled_says_so() -> None:
    assert state_word({"state": "RUNNING", "cancelling": True}) == "Cancelling"
    assert state_word({"state": "RUNNABLE"}) == "Runnable"


def test_control_codes_in_a_name_do_not_reach_the_terminal() -> None:
    text = render([Column("name")], [["\x1b[2Jgone\nrow"]])

    assert text.splitlines() == ["NAME", " [2Jgone row"]


def test_columns_line_up_with_wide_characters() -> None:
    text = render(
        [Column("name"), Column("n", is_number=True)], [["数字", "7"], ["abcd", "12"]]
    )

    assert text.splitlines() == ["NAME   N", "数字   7", "abcd  12"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (4.25, "4.2 s"), (61, "0:01:01"), (7265, "2:01:05")]
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (2048, "2.0 KiB"), (3 * 1024**3, "3.0 GiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert byte_size(count) == text
