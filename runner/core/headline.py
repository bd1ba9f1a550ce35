"""Which sentence tells a job best: its case and the numbers in it. Pure, no text.

The first case that fits wins: cancelling, cancelled, failed by its recorded
cause, succeeded, attempt to be repeated, problem while running, running,
starting, waiting. ``prsweb.jobs.headline_texts`` says it in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.core.states import TERMINAL_STATES, JobKind, JobState

# No time left is shown before so many have their outcome.
LEAST_COMPLETIONS = 10
OUTCOME_RULE = "outcome rule"
MAIN_NODE = "main node"
SCHEDULER = "scheduler"
THRESHOLDS = (
    "error_threshold",
    "mini_batch_error_threshold",
    "allowed_failed_percent",
)
_CAUSE_DECIDERS: Mapping[str, str] = {
    "init_failed": "init limit",
    "init_stuck": "init limit",
    "no_progress": "progress_update_timeout",
    "first_task_timeout": "first_task_creation_timeout",
    "time_limit": "time_limit",
}


@dataclass(frozen=True)
class ErrorFacts:
    """An error group, as a headline quotes it."""

    title: str
    count: int  # tries
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadlineFacts:
    """What a headline is made of; a list leaves the optional ones out."""

    kind: JobKind
    state: JobState
    reason: str = ""
    attempt: int = 0
    attempt_limit: int = 1
    node_count: int = 1
    main_node: int | None = None
    cause: str | None = None  # "error_threshold / run_exception"
    decided_by: str | None = None
    exit_code: int | None = None
    outcome: Mapping[str, Any] = field(default_factory=dict)  # Job.outcome_facts
    cancelled_by: str | None = None
    cancel_reason: str | None = None
    cancel_at: str | None = None  # "11:02"
    reused_from: str | None = None  # name of that job
    run_seconds: float | None = None  # in RUNNING, up to now or the end
    created: int = 0
    done: int = 0
    succeeded: int = 0
    failed: int = 0  # failed and partial
    not_run: int = 0
    items: int = 0
    succeeded_items: int = 0
    failed_items: int = 0
    duplicates: int = 0
    is_listing: bool = False
    remaining_low_seconds: float | None = None
    remaining_high_seconds: float | None = None
    nodes_running: int | None = None
    processes_running: int | None = None
    processes_ended: int | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)  # settings as submitted
    init_errors: ErrorFacts | None = None  # the largest group of failures in init()
    failed_children: Mapping[int, int] = field(default_factory=dict)  # node index: exit code


@dataclass(frozen=True)
class HeadlineChoice:
    case: str
    numbers: Mapping[str, Any]
    decided_by: str
    actions: tuple[str, ...] = ()  # codes, best first, at most two


def choose_headline(facts: HeadlineFacts) -> HeadlineChoice:
    """Return the case that fits first."""
    if facts.cancelled_by is not None and facts.state not in TERMINAL_STATES:
        return _cancelling(facts)
    match facts.state:
        case JobState.CANCELLED:
            return _cancelled(facts)
        case JobState.FAILED:
            return _failed(facts)
        case JobState.SUCCEEDED:
            return _succeeded(facts)
        case JobState.RUNNING | JobState.STARTING:
            return _active(facts)
        case _:
            return _waiting(facts)


def _cancelling(facts: HeadlineFacts) -> HeadlineChoice:
    numbers = {
        "processes": facts.processes_running,
        "ended": facts.processes_ended,
        **_cancel_numbers(facts),
    }
    return HeadlineChoice("cancelling", numbers, facts.cancelled_by or "")


def _cancelled(facts: HeadlineFacts) -> HeadlineChoice:
    numbers = _cancel_numbers(facts) | {"done": facts.done, "mini_batches": facts.created}
    decider = facts.cancelled_by or facts.decided_by or "a person"
    return HeadlineChoice("cancelled", numbers, decider, ("resubmit",))


def _cancel_numbers(facts: HeadlineFacts) -> dict[str, Any]:
    return {"at": facts.cancel_at, "reason": facts.cancel_reason or ""}


def _failed(facts: HeadlineFacts) -> HeadlineChoice:
    cause = (facts.cause or "").split(" / ", 1)[0]
    outcome = facts.outcome
    numbers: dict[str, Any] = {
        "mini_batches": facts.created,
        "done": facts.done,
        "failed": facts.failed,
        "items": facts.items,
        "failed_items": facts.failed_items,
        **outcome,
    }
    if facts.kind is not JobKind.PARALLEL_RUN_STEP and cause in ("", "main_node_exit"):
        if facts.exit_code is None:
            return HeadlineChoice("failed", numbers, _decider(facts, cause), ("logs",))
        numbers |= {
            "exit_code": facts.exit_code,
            "main_node": facts.main_node or 0,
            "children": facts.node_count - 1,
            "seconds": facts.run_seconds,
        }
        case = "main_node_exit" if facts.kind is JobKind.MULTI_NODE else "command_exit"
        return HeadlineChoice(case, numbers, _decider(facts, cause), ("logs", "resubmit"))
    has_errors = "dominant" in outcome or bool(outcome.get("group_count"))
    actions = ("errors", "resubmit") if has_errors else ("resubmit", "logs")
    return HeadlineChoice(cause or "failed", numbers, _decider(facts, cause), actions)


def _decider(facts: HeadlineFacts, cause: str) -> str:
    setting = facts.outcome.get("setting")
    if isinstance(setting, str):
        return setting
    if cause in THRESHOLDS:
        return cause
    if cause in _CAUSE_DECIDERS:
        return _CAUSE_DECIDERS[cause]
    if facts.kind is JobKind.PARALLEL_RUN_STEP:
        return facts.decided_by or OUTCOME_RULE
    return facts.decided_by or MAIN_NODE


def _succeeded(facts: HeadlineFacts) -> HeadlineChoice:
    if facts.reused_from is not None:
        numbers: dict[str, Any] = {"job": facts.reused_from}
        return HeadlineChoice("reused", numbers, "reuse setting", ("outputs",))
    numbers = {"seconds": facts.run_seconds}
    if facts.kind is not JobKind.PARALLEL_RUN_STEP:
        numbers |= {"main_node": facts.main_node or 0, "nodes": facts.node_count}
        numbers["failed_children"] = dict(facts.failed_children)
        case = "succeeded_main" if facts.kind is JobKind.MULTI_NODE else "succeeded_command"
        return HeadlineChoice(case, numbers, MAIN_NODE, ("logs", "outputs"))
    numbers |= {
        "mini_batches": facts.created,
        "items": facts.items,
        "succeeded_items": facts.succeeded_items,
        "failed_items": facts.failed_items,
        "failed": facts.failed,
        "duplicates": facts.duplicates,
    }
    if facts.failed_items:
        return HeadlineChoice(
            "succeeded_with_failures", numbers, OUTCOME_RULE, ("errors", "outputs")
        )
    case = "duplicates_left_out" if facts.duplicates else "succeeded"
    return HeadlineChoice(case, numbers, OUTCOME_RULE, ("outputs",))


def _active(facts: HeadlineFacts) -> HeadlineChoice:
    if facts.init_errors is not None and not facts.done:
        numbers: dict[str, Any] = {
            "failures": facts.init_errors.count,
            "nodes": list(facts.init_errors.nodes),
            "error": facts.init_errors.title,
        }
        return HeadlineChoice("init_failing", numbers, "init limit", ("errors", "cancel"))
    if facts.state is JobState.STARTING:
        return HeadlineChoice("starting", {"nodes": facts.node_count}, SCHEDULER)
    if facts.kind is not JobKind.PARALLEL_RUN_STEP:
        return _running_command(facts)
    return _running(facts)


def _running_command(facts: HeadlineFacts) -> HeadlineChoice:
    numbers = {
        "nodes": facts.node_count,
        "nodes_running": facts.nodes_running,
        "seconds": facts.run_seconds,
        "main_node": facts.main_node or 0,
        "time_limit": facts.limits.get("time_limit"),
    }
    return HeadlineChoice("running_main", numbers, MAIN_NODE, ("logs",))


def _running(facts: HeadlineFacts) -> HeadlineChoice:
    numbers = {
        "done": facts.done,
        "mini_batches": facts.created,
        "failed": facts.failed,
        "failed_items": facts.failed_items,
        "nodes": facts.nodes_running,
        "processes": facts.processes_running,
        "remaining_low_seconds": facts.remaining_low_seconds,
        "remaining_high_seconds": facts.remaining_high_seconds,
        "limits": {
            name: facts.limits[name]
            for name in THRESHOLDS[:2]
            if facts.limits.get(name, -1) not in (-1, None)
        },
    }
    actions = ("errors",) if facts.failed else ()
    if facts.is_listing:
        return HeadlineChoice("running_listing", numbers, OUTCOME_RULE, actions)
    if facts.done < LEAST_COMPLETIONS or facts.remaining_low_seconds is None:
        return HeadlineChoice("running_early", numbers, OUTCOME_RULE, actions)
    return HeadlineChoice("running", numbers, OUTCOME_RULE, actions)


def _waiting(facts: HeadlineFacts) -> HeadlineChoice:
    numbers = {
        "nodes": facts.node_count,
        "attempt": facts.attempt,
        "attempt_limit": facts.attempt_limit,
    }
    if facts.state is JobState.RUNNABLE and facts.attempt:
        return HeadlineChoice("attempt_repeated", numbers, SCHEDULER, ("nodes",))
    case = {
        JobState.SUBMITTED: "submitted",
        JobState.PENDING: "waiting_for_jobs",
        JobState.RUNNABLE: "waiting_for_nodes",
    }[facts.state]
    return HeadlineChoice(case, numbers, SCHEDULER, ("cluster",))
