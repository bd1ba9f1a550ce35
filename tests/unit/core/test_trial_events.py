"""What a trial tells comes back as it was sent."""

from __future__ import annotations

import pytest

from runner.core.messages import MalformedMessage
from runner.core.trial_events import (
    InitTried,
    MiniBatchTried,
    TrialEnded,
    TrialError,
    TrialEvent,
    TrialRefused,
    Warned,
    parse_trial_event,
)

ERROR = TrialError("exception", "ValueError: bad", "score.py:3", "Traceback …\nValueError: bad")


@pytest.mark.parametrize(
    "event",
    [
        InitTried(0.5, None, {"stdout": "loaded\n"}),
        InitTried(0.5, ERROR),
        MiniBatchTried(index=1, items=2, failed=2, run_seconds=None, error=ERROR),
        Warned("run() returned 3 results for 2 items"),
        TrialRefused("no such file"),
        TrialEnded({"stderr": "bye"}),
    ],
)
def test_an_event_comes_back_equal(event: TrialEvent) -> None:
    assert parse_trial_event(event.to_json()) == event


@pytest.mark.parametrize("line", [b"", b"[1]", b'{"type": "cheer"}', b'{"type": "warning'])
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(MalformedMessage):
        parse_trial_event(line)
