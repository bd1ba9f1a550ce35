"""The life cycles: their states, and every move allowed between them.

Pure: no Django, no clock, no I/O. ``prsweb.jobs.transitions`` is the only
module that writes these states to the database.

Source: AWS Batch job states,
https://docs.aws.amazon.com/batch/latest/userguide/job_states.html
CANCELLED is ours: the Batch API shows such a job as FAILED.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import TypeVar


class JobKind(StrEnum):
    PARALLEL_RUN_STEP = "parallel_run_step"
    MULTI_NODE = "multi_node"
    COMMAND = "command"


class JobState(StrEnum):
    SUBMITTED = "SUBMITTED"  # accepted; the scheduler has not looked at it yet
    PENDING = "PENDING"  # waits for jobs it depends on
    RUNNABLE = "RUNNABLE"  # waits for nodes
    STARTING = "STARTING"  # nodes granted, processes launching
    RUNNING = "RUNNING"  # the first worker process has reported, or main exists
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class NodeState(StrEnum):
    """A node as the operator sees it; ``late`` and ``lost`` follow from its beats."""

    ONLINE = "online"
    LATE = "late"  # five beats missed
    LOST = "lost"  # 15 s without a beat
    DRAINING = "draining"  # takes no new job, ends the one it has
    DRAINED = "drained"


class JobNodeState(StrEnum):
    """One node's part in one job."""

    SUBMITTED = "SUBMITTED"  # a child that waits for the main node
    STARTING = "STARTING"  # assignment sent
    RUNNING = "RUNNING"  # its first process exists
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    LOST = "LOST"  # no beat for 15 s, or its Celery worker died
    STOPPED = "STOPPED"  # nothing was wrong with it: the job was ended early


class MiniBatchState(IntEnum):
    """Small integers, for a row per mini-batch is written by the million.

    WAITING and RUNNING have no row: the manifest says that the mini-batch
    exists, the nodes say what runs. RETRYING has tries but no row.
    """

    WAITING = 0
    RUNNING = 1
    RETRYING = 2  # at least one try failed, another follows
    SUCCEEDED = 3
    PARTIAL = 4  # run() returned fewer results than items
    FAILED = 5
    NOT_RUN = 6  # the job ended first

    @property
    def word(self) -> str:
        """The name in API, pages and filters: ``not_run``."""
        return self.name.lower()


J = JobState

# (from, to): what causes the move. docs/state_machine.md is drawn from this.
JOB_MOVES: dict[tuple[JobState, JobState], str] = {
    (J.SUBMITTED, J.PENDING): "has open dependencies",
    (J.SUBMITTED, J.RUNNABLE): "has none",
    (J.SUBMITTED, J.SUCCEEDED): "result of an equal job reused",
    (J.PENDING, J.RUNNABLE): "dependencies met",
    (J.PENDING, J.SUCCEEDED): "all array children succeeded",
    (J.RUNNABLE, J.STARTING): "nodes granted",
    (J.STARTING, J.RUNNING): "first process up",
    (J.STARTING, J.RUNNABLE): "grant undone, or attempt failed with attempts left",
    (J.STARTING, J.FAILED): "attempt failed, none left",
    (J.RUNNING, J.RUNNABLE): "attempt failed, attempts left",
    (J.RUNNING, J.FAILED): "attempt failed, none left",
    (J.RUNNING, J.SUCCEEDED): "attempt succeeded",
}
JOB_MOVES |= {
    (start, J.FAILED): "cannot start" for start in (J.SUBMITTED, J.PENDING, J.RUNNABLE)
}
JOB_MOVES |= {
    (start, J.CANCELLED): "cancelled"
    for start in (J.SUBMITTED, J.PENDING, J.RUNNABLE, J.STARTING, J.RUNNING)
}

# A terminal state is never left. Resubmitting makes a new job instead.
TERMINAL_STATES = frozenset(set(JobState) - {start for start, _ in JOB_MOVES})
ACTIVE_STATES = frozenset({J.STARTING, J.RUNNING})  # holds nodes, led by a master role
WAITING_STATES = frozenset({J.SUBMITTED, J.PENDING, J.RUNNABLE})

N = JobNodeState

JOB_NODE_MOVES: dict[tuple[JobNodeState, JobNodeState], str] = {
    (N.SUBMITTED, N.STARTING): "main node is running",
    (N.SUBMITTED, N.FAILED): "main node ended before this node started",
    (N.STARTING, N.RUNNING): "first process exists",
    (N.STARTING, N.SUCCEEDED): "released without work",
    (N.STARTING, N.FAILED): "could not start",
    (N.STARTING, N.LOST): "no sign of life",
    (N.STARTING, N.STOPPED): "the job was stopped",
    (N.RUNNING, N.SUCCEEDED): "its processes ended well",
    (N.RUNNING, N.FAILED): "its process failed, or it gave up",
    (N.RUNNING, N.LOST): "no sign of life",
    (N.RUNNING, N.STOPPED): "the job was stopped",
}
ENDED_JOB_NODE_STATES = frozenset(set(JobNodeState) - {start for start, _ in JOB_NODE_MOVES})

# A drain is an order; late and lost follow from beats and are computed on reading.
NODE_MOVES: dict[tuple[NodeState, NodeState], str] = {
    (NodeState.ONLINE, NodeState.LOST): "no beat for 15 s",
    (NodeState.ONLINE, NodeState.DRAINING): "drain ordered",
    (NodeState.DRAINING, NodeState.DRAINED): "its job has ended",
    (NodeState.DRAINING, NodeState.ONLINE): "undrain ordered",
    (NodeState.DRAINED, NodeState.ONLINE): "undrain ordered",
    (NodeState.DRAINING, NodeState.LOST): "no beat for 15 s",
    (NodeState.DRAINED, NodeState.LOST): "no beat for 15 s",
    (NodeState.LOST, NodeState.ONLINE): "beats again",
}

LATE_SECONDS = 5.0
LOST_SECONDS = 15.0

AZURE_STATUS: Mapping[JobState, str] = {
    J.SUBMITTED: "Queued",
    J.PENDING: "Queued",
    J.RUNNABLE: "Queued",
    J.STARTING: "Starting",
    J.RUNNING: "Running",
    J.SUCCEEDED: "Completed",
    J.FAILED: "Failed",
    J.CANCELLED: "Canceled",
}


class InvalidTransition(Exception):
    """The life cycle has no such move."""

    def __init__(self, current: StrEnum, target: StrEnum, allowed: list[str]) -> None:
        self.current = current
        self.target = target
        story = ", ".join(allowed) or "none, it is terminal"
        super().__init__(f"cannot go {current} -> {target}; allowed: {story}")


StateT = TypeVar("StateT", bound=StrEnum)


def check_move(
    moves: Mapping[tuple[StateT, StateT], str], current: StateT, target: StateT
) -> None:
    """Raise InvalidTransition unless ``current -> target`` is in ``moves``."""
    if (current, target) not in moves:
        allowed = [str(end) for start, end in moves if start == current]
        raise InvalidTransition(current, target, allowed)


def mermaid(moves: Mapping[tuple[StateT, StateT], str], first: StateT) -> str:
    """Return the diagram that docs/state_machine.md must contain."""
    lines = [f"    {a} --> {b}: {why}" for (a, b), why in moves.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first}", *lines])


def node_state_at(stored: NodeState, beat_age_seconds: float | None) -> NodeState:
    """Return the state a node has ``beat_age_seconds`` after its last beat.

    A node that never beat (None) is lost. A drain shows as long as it beats.
    """
    if beat_age_seconds is None or beat_age_seconds >= LOST_SECONDS:
        return NodeState.LOST
    if stored in (NodeState.DRAINING, NodeState.DRAINED):
        return stored
    if beat_age_seconds >= LATE_SECONDS:
        return NodeState.LATE
    return NodeState.ONLINE
