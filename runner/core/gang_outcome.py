"""How an attempt of a multi-node or plain job ends, and whether another follows. Pure.

Source: reasons and retries of AWS Batch,
https://docs.aws.amazon.com/batch/latest/userguide/job_retries.html
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.core.states import JobKind, JobState

EXITED = "Essential container in task exited"
TIMED_OUT = "Job attempt duration exceeded timeout"
NOT_STARTED = "Task failed to start"
MAIN_EXITED_FIRST = "Main node exited before this node started"
STOPPED_WITH_MAIN = "Stopped because the main node exited"
STARTING_TIMEOUT = "DockerTimeoutError: the command did not start in time"


@dataclass(frozen=True)
class GangDecision:
    """What fixed the outcome of an attempt. The first one stands."""

    state: JobState  # SUCCEEDED, FAILED or CANCELLED, unless another attempt follows
    reason: str  # a sentence for people
    status_reason: str  # as AWS Batch words it; retry patterns match on it
    cause: str | None
    decided_by: str
    exit_code: int | None = None
    container_reason: str | None = None
    may_retry: bool = False
    is_uncounted: bool = False  # no attempt is counted: the nodes are granted anew

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "state": str(self.state)}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> GangDecision:
        return cls(**{**raw, "state": JobState(raw["state"])})


def main_ended(
    kind: str, *, exit_code: int, signal: int | None, container_reason: str, main_node: int
) -> GangDecision:
    """The main node's process has ended by itself: its exit code decides."""
    is_gang = kind == JobKind.MULTI_NODE
    who = f"the main node (node {main_node})" if is_gang else "the command"
    how = f"was killed by signal {signal}, exit code {exit_code}" if signal else ""
    how = how or f"exited with {exit_code}"
    detail = f" ({container_reason})" if container_reason else ""
    is_good = exit_code == 0
    return GangDecision(
        state=JobState.SUCCEEDED if is_good else JobState.FAILED,
        reason=f"{who} {how}{detail}",
        status_reason=EXITED,
        cause=None if is_good else ("main_node_exit" if is_gang else "command_exit"),
        decided_by="main node" if is_gang else "command",
        exit_code=exit_code,
        container_reason=container_reason or None,
        may_retry=not is_good,
    )


def could_not_start(container_reason: str) -> GangDecision:
    """The command was never executed."""
    return GangDecision(
        state=JobState.FAILED,
        reason=f"the command could not be started: {container_reason}",
        status_reason=NOT_STARTED,
        cause="start_failed",
        decided_by="master role",
        container_reason=container_reason,
        may_retry=True,
    )


def cancelled(by: str, note: str) -> GangDecision:
    quoted = f' ("{note}")' if note else ""
    return GangDecision(
        state=JobState.CANCELLED,
        reason=f"cancelled by {by}{quoted}",
        status_reason=note or f"cancelled by {by}",
        cause="cancelled",
        decided_by=by,
    )


def timed_out(seconds: float) -> GangDecision:
    return GangDecision(
        state=JobState.FAILED,
        reason=f"it ran longer than its timeout of {seconds:g} s",
        status_reason=TIMED_OUT,
        cause="time_limit",
        decided_by="master role",
    )


def main_lost(node_name: str, why: str) -> GangDecision:
    """The main's node is gone after its process had started."""
    return GangDecision(
        state=JobState.FAILED,
        reason=f"the node of the main process, {node_name}, was lost: {why}",
        status_reason=host_terminated(node_name),
        cause="nodes_lost",
        decided_by="master role",
        container_reason=f"{node_name}: {why}",
        may_retry=True,
    )


def grant_undone(node_name: str, why: str) -> GangDecision:
    """A node was lost before the main process had started: as if never granted."""
    return GangDecision(
        state=JobState.FAILED,
        reason=f"node {node_name} was lost before the command had started: {why}",
        status_reason=host_terminated(node_name),
        cause="nodes_lost",
        decided_by="master role",
        may_retry=True,
        is_uncounted=True,
    )


def child_failed(index: int, exit_code: int | None) -> GangDecision:
    """A child node failed and ``fail_on_child_failure`` is set."""
    code = "no exit code" if exit_code is None else f"exit code {exit_code}"
    text = f"Child node {index} failed ({code})"
    return GangDecision(
        state=JobState.FAILED,
        reason=text,
        status_reason=text,
        cause="child_node_exit",
        decided_by=f"node {index}",
        may_retry=True,
    )


def host_terminated(node_name: str) -> str:
    digits = hashlib.sha256(node_name.encode()).hexdigest()[:17]
    return f"Host EC2 (instance i-{digits}) terminated."


def is_retried(
    decision: GangDecision, retry: Mapping[str, Any], *, attempt: int, attempt_limit: int
) -> bool:
    """Whether another attempt follows. The first rule whose conditions all match
    decides; when none matches, the attempt is retried."""
    if decision.is_uncounted:
        return True
    if not decision.may_retry or attempt >= attempt_limit:
        return False
    for rule in retry.get("evaluate_on_exit") or ():
        if _matches(rule, decision):
            return str(rule.get("action", "")).lower() == "retry"
    return True


def _matches(rule: Mapping[str, Any], decision: GangDecision) -> bool:
    code = None if decision.exit_code is None else str(decision.exit_code)
    conditions = (
        (rule.get("on_status_reason"), decision.status_reason),
        (rule.get("on_reason"), decision.container_reason),
        (rule.get("on_exit_code"), code),
    )
    return all(pattern is None or _fits(str(pattern), value) for pattern, value in conditions)


def _fits(pattern: str, value: str | None) -> bool:
    """A pattern is literal, or a beginning when it ends with ``*``. A missing value
    fits ``*`` only."""
    if value is None:
        return pattern == "*"
    if pattern.endswith("*"):
        return value.startswith(pattern[:-1])
    return value == pattern
