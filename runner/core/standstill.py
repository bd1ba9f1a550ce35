"""What is known while nothing moves, in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runner.core.messages import LiveProcess

FIRST_PICK_SECONDS = 60.0  # without a pick before anything is said
PHASE_WORDS = {
    "starting": "starting",
    "init": "in init()",
    "idle": "waiting for work",
    "load": "loading a mini-batch",
    "run": "inside run()",
    "write": "writing a result",
    "written": "reporting a result",
    "shutdown": "in shutdown()",
}


def describe_processes(live: Sequence[LiveProcess]) -> str:
    """Return ``all 8 processes are inside run(), longest for 48 s``; what they do by
    count where they differ."""
    shown = [one for one in live if one.phase in PHASE_WORDS]
    if not shown:
        return "no process is there"
    counts = Counter(one.phase for one in shown)
    longest = max(one.since_seconds for one in shown)
    if len(counts) == 1:
        phase = next(iter(counts))
        who = "the one process is" if len(shown) == 1 else f"all {len(shown)} processes are"
        return f"{who} {PHASE_WORDS[phase]}, longest for {longest:.0f} s"
    parts = [f"{count} {PHASE_WORDS[phase]}" for phase, count in counts.most_common()]
    return f"of {len(shown)} processes {', '.join(parts)}, longest for {longest:.0f} s"


def is_first_pick_late(
    *, running_seconds: float, ended: int, live: Sequence[LiveProcess]
) -> bool:
    """Whether a minute has passed and no process has picked anything."""
    has_picked = ended > 0 or any(
        one.phase in ("load", "run", "write", "written") for one in live
    )
    return not has_picked and running_seconds >= FIRST_PICK_SECONDS


def is_standing_still(
    *, silent_seconds: float, limit_seconds: float, live: Sequence[LiveProcess]
) -> bool:
    """Whether all processes are busy and nothing has ended for half the limit."""
    shown = [one for one in live if one.phase in PHASE_WORDS]
    all_busy = bool(shown) and all(one.phase in ("load", "run", "write") for one in shown)
    return all_busy and silent_seconds >= limit_seconds / 2
