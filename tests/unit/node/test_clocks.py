from __future__ import annotations

import pytest

from runner.core.wire_format import wire
from runner.node.clocks import Clock, Limits, PhaseWords, find_expiry, seconds_until_due

LIMITS = Limits(run_seconds=2.0, overhead_seconds=5.0)
S = 1_000_000_000


def words(phase: int, *, since_ns: int = 0) -> PhaseWords:
    return PhaseWords(phase, mini_batch=7, since_ns=since_ns, try_number=1, done=3)


@pytest.mark.parametrize(
    ("phase", "seconds", "status"),
    [
        (wire.PHASE_RUN, 2.0, wire.RUN_TIMEOUT),
        (wire.PHASE_SHUTDOWN, 2.0, wire.RUN_TIMEOUT),
        (wire.PHASE_LOAD, 5.0, wire.LOAD_TIMEOUT),
        (wire.PHASE_WRITE, 5.0, wire.WRITE_TIMEOUT),
    ],
)
def test_each_phase_has_its_own_limit(phase, seconds, status):
    just_before = int(seconds * S) - 1

    assert find_expiry(words(phase), LIMITS, now_ns=just_before) is None
    expiry = find_expiry(words(phase), LIMITS, now_ns=just_before + 1)

    assert expiry is not None
    assert expiry.status == status
    assert expiry.limit_seconds == seconds


@pytest.mark.parametrize(
    "phase", [wire.PHASE_STARTING, wire.PHASE_INIT, wire.PHASE_IDLE, wire.PHASE_WRITTEN]
)
def test_nothing_runs_out_where_no_limit_applies(phase):
    assert find_expiry(words(phase), LIMITS, now_ns=10**15) is None


def test_an_expiry_says_what_took_too_long():
    expiry = find_expiry(words(wire.PHASE_RUN), LIMITS, now_ns=3 * S)

    assert expiry is not None
    assert expiry.clock is Clock.RUN
    assert str(expiry) == "run() for mini-batch 7 took longer than run_invocation_timeout (2 s)"


def test_a_process_is_looked_at_when_its_limit_ends():
    assert seconds_until_due(words(wire.PHASE_RUN), LIMITS, now_ns=S // 2) == pytest.approx(1.5)


def test_a_phase_that_begins_after_the_look_is_not_missed():
    in_load = words(wire.PHASE_LOAD)

    assert seconds_until_due(in_load, LIMITS, now_ns=0) == LIMITS.run_seconds
    assert seconds_until_due(words(wire.PHASE_IDLE), LIMITS, now_ns=0) == LIMITS.run_seconds
