"""What a trial comes to: its exit status, its last line, its JSON."""

from __future__ import annotations

from prsweb.cli.trial_outcome import TrialOutcome
from prsweb.cli.trial_text import MOST_ROWS, event_text
from runner.core.trial_events import InitTried, MiniBatchTried, TrialEnded, TrialError

GOOD = MiniBatchTried(index=0, items=1, succeeded=1, results=1, run_seconds=0.5, rows=("a",))
ERROR = TrialError("exception", "ValueError: bad", "score.py:3", "Traceback\nValueError: bad\n")
BAD = MiniBatchTried(index=1, items=2, failed=2, run_seconds=0.1, error=ERROR)
SILENT = MiniBatchTried(
    index=0,
    items=2,
    failed=2,
    run_seconds=0.1,
    error=TrialError("missing_results", "run() returned fewer items than it got"),
)


def outcome_of(*events: InitTried | MiniBatchTried, is_summary_only: bool = False):
    outcome = TrialOutcome(is_summary_only=is_summary_only)
    for event in events:
        outcome.add(event)
    return outcome


def test_all_succeeded() -> None:
    outcome = outcome_of(InitTried(), GOOD)

    assert outcome.is_good
    assert outcome.summary == "1 mini-batch succeeded"


def test_one_that_failed_fails_the_trial_and_is_named_last() -> None:
    outcome = outcome_of(InitTried(), GOOD, BAD)

    assert not outcome.is_good
    assert outcome.summary == "1 of 2 mini-batches failed: ValueError: bad"


def test_a_failed_init_is_no_success_without_mini_batches() -> None:
    outcome = outcome_of(InitTried(0.1, ERROR))

    assert not outcome.is_good
    assert outcome.summary == "failed before run(): ValueError: bad"
    assert outcome.to_json()["init_error"]["place"] == "score.py:3"


def test_a_script_that_does_not_report_is_good_in_summary_only_alone() -> None:
    assert outcome_of(SILENT, is_summary_only=True).is_good
    assert "not reporting" in outcome_of(SILENT, is_summary_only=True).summary
    assert not outcome_of(SILENT).is_good
    assert not outcome_of(SILENT, BAD, is_summary_only=True).is_good


def test_json_has_the_members_of_the_contract() -> None:
    value = outcome_of(InitTried(), GOOD, BAD).to_json()

    assert value["rows"] == ["a"]
    first, second = value["mini_batches"]
    assert {"index", "items", "succeeded", "failed", "error"} <= set(first)
    assert first["error"] is None
    assert second["error"]["traceback"].startswith("Traceback")


def test_the_traceback_follows_the_counts_and_the_rows_are_cut() -> None:
    many = MiniBatchTried(items=99, succeeded=99, run_seconds=1.0, rows=("row",) * 99)

    assert event_text(BAD).splitlines()[1:4] == [
        "mini-batch 1: 2 items, 0 succeeded, 2 failed, run() took 0.100 s",
        "Traceback",
        "ValueError: bad",
    ]
    assert event_text(many).count("    row") == MOST_ROWS
    assert event_text(many).endswith(f"… and {99 - MOST_ROWS} more")


def test_what_was_written_to_the_output_folder_is_said_to_be_gone() -> None:
    text = event_text(TrialEnded(written=("a", "b", "c", "d")))

    assert text == "in the output folder, not kept: 4 files (a, b, c …)"
