from __future__ import annotations

import pytest

from runner.core.policy import Verdict, after_failure


@pytest.mark.parametrize(
    ("run_max_try", "try_number", "was_stopped", "expected"),
    [
        (1, 1, False, Verdict.GIVE_UP),
        (3, 1, False, Verdict.RETRY),
        (3, 2, False, Verdict.RETRY),
        (3, 3, False, Verdict.GIVE_UP),
        (3, 4, False, Verdict.GIVE_UP),
        (3, 1, True, Verdict.LEAVE),
        (1, 1, True, Verdict.LEAVE),
    ],
)
def test_a_failed_try_is_repeated_until_the_limit(
    run_max_try: int, try_number: int, was_stopped: bool, expected: Verdict
) -> None:
    verdict = after_failure(
        run_max_try=run_max_try, try_number=try_number, was_stopped=was_stopped
    )

    assert verdict is expected
