"""When failures of import and init() end a node's part, or the job. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NODE_FAILURES_PER_PROCESS = 3
JOB_FAILURES_PER_PROCESS = 2
JOB_GRACE_SECONDS = 120.0
STUCK_EXTRA_SECONDS = 30.0


@dataclass
class NodeInits:
    """What the init() calls on one node have come to, since it joined."""

    process_count: int
    failures: int = 0  # without a success in between
    has_succeeded: bool = False

    def note_success(self) -> None:
        self.failures = 0
        self.has_succeeded = True

    def note_failure(self) -> None:
        self.failures += 1

    @property
    def limit(self) -> int:
        return NODE_FAILURES_PER_PROCESS * self.process_count

    @property
    def is_given_up(self) -> bool:
        """Rule 1: the node starts no more processes."""
        return self.failures >= self.limit


@dataclass(frozen=True)
class JobInits:
    """The same over all nodes, for the rules of the whole job."""

    failures: int
    has_succeeded: bool
    process_count: int  # node_count x processes, or their sum where it differs

    @property
    def limit(self) -> int:
        return JOB_FAILURES_PER_PROCESS * self.process_count

    def is_failed(self, *, running_seconds: float) -> bool:
        """Rule 2: init() never succeeded, long enough and often enough."""
        return (
            not self.has_succeeded
            and running_seconds > JOB_GRACE_SECONDS
            and self.failures >= self.limit
        )


def stuck_limit_seconds(run_invocation_timeout: float) -> float:
    return 3 * run_invocation_timeout + STUCK_EXTRA_SECONDS


def is_stuck(
    phases: Iterable[str], *, seconds_since_event: float, run_invocation_timeout: float
) -> bool:
    """Rule 3: every process is inside init(), for too long.

    ``seconds_since_event`` counts from the first process, or the last init()
    that returned or failed. No process at all is not stuck.
    """
    all_phases = set(phases)
    limit = stuck_limit_seconds(run_invocation_timeout)
    return all_phases == {"init"} and seconds_since_event > limit
