"""The reason is one sentence: the rule that decided, then the dominant cause."""

from __future__ import annotations

from datetime import UTC, datetime

from runner.core import outcome
from runner.core.job_log_texts import FirstError, JobResult, OutputFacts, progress
from runner.core.outcome import DominantGroup
from runner.core.thresholds import Exceeded, Tally

DOMINANT = DominantGroup(
    "v1:5d0e77ab", "exception", "ValueError: bad header", "score.py:42", 17, 18
)
TALLY = Tally(
    created=276, succeeded=120, failed=6, succeeded_items=240, failed_items=12, results=240
)


def test_a_threshold_names_setting_value_and_the_dominant_cause() -> None:
    decision = outcome.by_threshold(Exceeded("error_threshold", 10, 12, 12), TALLY)

    assert outcome.whole_reason(decision, DOMINANT, group_count=2) == (
        "12 items failed, error_threshold is 10;"
        " 17 of 18 failed tries: ValueError at score.py:42."
    )
    assert outcome.whole_cause(decision, DOMINANT) == "error_threshold / run_exception"
    assert outcome.next_step(decision, DOMINANT, job_id="7f3a0000-1") == (
        "correct score.py:42, then ./prs resubmit 7f3a0000"
    )


def test_without_a_dominant_group_the_number_of_errors_is_told() -> None:
    decision = outcome.by_threshold(Exceeded("error_threshold", 10, 12, 12), TALLY)

    assert outcome.whole_reason(decision, None, group_count=3).endswith("; 3 different errors.")


def test_a_success_has_neither_cause_nor_advice() -> None:
    decision = outcome.succeeded(Tally(created=90, succeeded=90))

    assert decision.sentence == "all 90 mini-batches were processed"
    assert outcome.whole_cause(decision, None) is None
    assert outcome.next_step(decision, None, job_id="7f3a") == ""


def test_empty_results_are_told_with_both_numbers() -> None:
    tally = Tally(created=10, partial=10, failed_items=20)

    decision = outcome.nothing_succeeded(tally, items=20)

    assert "run() returned 0 results for 20 items in 10 mini-batches" in decision.sentence


def test_job_result_has_its_lines_in_order() -> None:
    result = JobResult(
        status="Failed",
        reason="12 items failed, error_threshold is 10;"
        " 17 of 18 failed tries: ValueError at score.py:42.",
        cause="error_threshold / run_exception",
        decided_by="master role on host-a",
        decided_at=datetime(2026, 1, 31, 9, 15, 2, tzinfo=UTC),
        next_step="correct score.py:42, then ./prs resubmit 7f3a",
        first_error=FirstError("ValueError: bad header", 17, 1, 3, "n1", "process003"),
        look_at="logs/user/error/n1/process003.txt",
        tally=TALLY,
        items=551,
        tries=138,
        repeated=12,
        output=None,
        seconds=192,
        listing_seconds=22,
        warnings=["w"],
    )

    assert result.text() == (
        "Status: Failed\n"
        "Reason: 12 items failed, error_threshold is 10;"
        " 17 of 18 failed tries: ValueError at score.py:42.\n"
        "Cause: error_threshold / run_exception\n"
        "Decided by: master role on host-a at 2026-01-31T09:15:02Z\n"
        "What to do next: correct score.py:42, then ./prs resubmit 7f3a\n"
        "First error: ValueError: bad header; mini-batch 17, try 1 of 3, process003 on n1\n"
        "Look at: logs/user/error/n1/process003.txt\n"
        "Mini-batches: total 276, succeeded 120, partial 0, failed 6, not run 150\n"
        "Items: total 551, succeeded 240, failed 12, not run 299\n"
        "Tries: 138 (12 repeated)\n"
        "Duration: 0:03:12 (listing 0:00:22)\n"
        "Warnings: 1\n"
        "- w\n"
    )


def test_the_output_is_named_after_the_tries() -> None:
    shown = OutputFacts("output/parallel_run_step.txt", 551, 20480, "ab12")

    assert str(shown) == "output/parallel_run_step.txt, 551 rows, 20480 bytes, sha256 ab12"


def test_the_progress_line_says_when_the_time_left_is_not_known() -> None:
    line = progress(TALLY, items=551, seconds=18134, remaining=None, repeated=3)

    assert line == (
        "Processed 126 of 276 mini-batches (6 failed), 252 of 551 items, in 5:02:14; "
        "remaining not known; repeated tries 3."
    )
