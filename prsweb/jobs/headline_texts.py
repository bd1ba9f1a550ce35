"""The headline of a job in words: state, what happened with numbers, cause, who decided."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils import timezone

from prsweb.jobs.models import ErrorGroup, Job, JobNode, JobProcess
from prsweb.jobs.selectors.jobs import has_ended
from prsweb.jobs.selectors.progress import job_progress
from runner.core.headline import (
    ErrorFacts,
    HeadlineChoice,
    HeadlineFacts,
    choose_headline,
)
from runner.core.states import ENDED_JOB_NODE_STATES, JobKind, JobNodeState, JobState

Numbers = Mapping[str, Any]

_EXIT_MEANINGS = {126: "the command is not executable", 127: "command not found"}
_SIGNAL_MEANINGS = {
    signal.SIGKILL: "killed",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "aborted",
    signal.SIGTERM: "ended by SIGTERM",
    signal.SIGINT: "interrupted",
}
_ACTIONS = {
    "errors": ("Show the errors", "errors/"),
    "logs": ("Open the logs", "logs/"),
    "outputs": ("Output", "outputs/"),
    "nodes": ("Nodes of this job", "nodes/"),
}
_ACTIONS_ELSEWHERE = {
    "resubmit": ("Clone and edit", "/jobs/new/?from={job}"),
    "cluster": ("See the nodes", "/nodes/"),
    "cancel": ("Cancel", "/jobs/{job}/"),
}


@dataclass(frozen=True)
class HeadlineAction:
    text: str
    url: str


@dataclass(frozen=True)
class Headline:
    text: str
    case: str
    numbers: Numbers
    decided_by: str
    actions: tuple[HeadlineAction, ...]


def headline_of(job: Job) -> Headline:
    """Return the headline of one job. At most three short queries, while it is active."""
    facts = _facts(job, limits=job.spec)
    if not has_ended(job):
        facts = _with_live_parts(job, facts)
    elif facts.kind is JobKind.MULTI_NODE and facts.state is JobState.SUCCEEDED:
        facts = replace(facts, failed_children=_failed_children(job))
    return _headline(job, facts)


def list_headline(job: Job) -> Headline:
    """Return the headline as a list shows it: from the job's row alone, no query."""
    return _headline(job, _facts(job, limits=job.spec))


def _headline(job: Job, facts: HeadlineFacts) -> Headline:
    choice = choose_headline(facts)
    sentence = SENTENCES.get(choice.case, _failed)
    text = sentence(choice, facts)
    return Headline(text, choice.case, choice.numbers, choice.decided_by, _actions(job, choice))


def _facts(job: Job, *, limits: Numbers) -> HeadlineFacts:
    progress = job_progress(job)
    reused = job.reused_from
    return HeadlineFacts(
        kind=JobKind(job.kind),
        state=JobState(job.state),
        reason=job.state_reason,
        attempt=job.attempt,
        attempt_limit=job.attempt_limit,
        node_count=job.node_count,
        main_node=job.main_node,
        cause=job.cause,
        decided_by=job.decided_by,
        exit_code=job.exit_code,
        outcome=job.outcome_facts,
        cancelled_by=job.cancel_requested_by,
        cancel_reason=job.cancel_reason,
        cancel_at=f"{job.cancel_requested_at:%H:%M}" if job.cancel_requested_at else None,
        reused_from=reused.name if reused else None,
        run_seconds=_run_seconds(job),
        created=progress.created,
        done=progress.done,
        succeeded=progress.succeeded,
        failed=progress.failed + progress.partial,
        not_run=progress.not_run,
        items=progress.items,
        succeeded_items=job.succeeded_items,
        failed_items=job.failed_items,
        duplicates=job.duplicates,
        is_listing=progress.listing,
        remaining_low_seconds=progress.remaining_seconds_low,
        remaining_high_seconds=progress.remaining_seconds_high,
        limits=limits,
    )


def _with_live_parts(job: Job, facts: HeadlineFacts) -> HeadlineFacts:
    nodes = JobNode.objects.filter(job_id=job.pk, attempt=max(1, job.attempt))
    processes = JobProcess.objects.filter(job_id=job.pk)
    ended = dict.fromkeys((True, False), 0)
    for ended_at in processes.values_list("ended_at", flat=True):
        ended[ended_at is not None] += 1
    init_errors = None
    if job.error_group_count and not facts.done:
        init_errors = _init_errors(job)
    return replace(
        facts,
        nodes_running=nodes.exclude(state__in=ENDED_JOB_NODE_STATES).count(),
        processes_running=ended[False],
        processes_ended=ended[True],
        init_errors=init_errors,
    )


def _init_errors(job: Job) -> ErrorFacts | None:
    """The largest group of errors that happened before any mini-batch."""
    group = (
        ErrorGroup.objects.filter(job_id=job.pk, first_mini_batch=None)
        .order_by("-count")
        .first()
    )
    return ErrorFacts(group.title, group.count, tuple(group.nodes)) if group else None


def _failed_children(job: Job) -> dict[int, int]:
    """Exit codes of the child nodes that failed by themselves, by node index: one that the
    main node's end stopped ended after it."""
    nodes = JobNode.objects.filter(job_id=job.pk, attempt=job.attempt)
    main = nodes.filter(is_main=True).first()
    if main is None or main.ended_at is None:
        return {}
    failed = nodes.filter(
        is_main=False, state=JobNodeState.FAILED, exit_code__gt=0, ended_at__lte=main.ended_at
    )
    return {node.index: node.exit_code or 0 for node in failed.order_by("index")}


def _run_seconds(job: Job) -> float | None:
    if job.running_at is None:
        return None
    return ((job.ended_at or timezone.now()) - job.running_at).total_seconds()


def _actions(job: Job, choice: HeadlineChoice) -> tuple[HeadlineAction, ...]:
    actions = []
    for code in choice.actions[:2]:
        if code in _ACTIONS:
            text, tab = _ACTIONS[code]
            actions.append(HeadlineAction(text, f"/jobs/{job.job_id}/{tab}"))
        else:
            text, url = _ACTIONS_ELSEWHERE[code]
            actions.append(HeadlineAction(text, url.format(job=job.job_id)))
    return tuple(actions)


# --- words and numbers -------------------------------------------------------------


def duration_words(seconds: float | None) -> str:
    """Two units at most: ``4 min 30 s``."""
    if seconds is None:
        return "an unknown time"
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    days, hours = divmod(hours, 24)
    if not days:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{days} d {hours} h" if hours else f"{days} d"


def exit_words(code: int) -> str:
    """``139 (segmentation fault)``: no exit code without its meaning."""
    if code in _EXIT_MEANINGS:
        return f"{code} ({_EXIT_MEANINGS[code]})"
    if code > 128:
        try:
            number = signal.Signals(code - 128)
        except ValueError:
            return str(code)
        return f"{code} ({_SIGNAL_MEANINGS.get(number, number.name)})"
    return str(code)


def _count(number: Any, word: str) -> str:
    """``1 item``, ``2,050 items``, ``11 mini-batches``, ``8 processes``."""
    if number != 1:
        word += "es" if word.endswith(("ch", "ss")) else "s"
    return f"{_number(number)} {word}"


def _number(value: Any) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.3g}"
    return f"{int(value):,}"


def _left(numbers: Numbers) -> str:
    low, high = numbers["remaining_low_seconds"], numbers["remaining_high_seconds"]
    if low is None:
        return ""
    if high is None or round(low / 60) == round(high / 60):
        return f", about {duration_words(high or low)} left"
    if high < 90:
        return f", about {low:.0f}–{high:.0f} s left"
    return f", about {max(1, round(low / 60))}–{round(high / 60)} min left"


def _where(numbers: Numbers) -> str:
    if numbers["nodes"] is None or not numbers["processes"]:
        return ""
    return f" on {_count(numbers['nodes'], 'node')} ({_count(numbers['processes'], 'process')})"


def _failures_so_far(numbers: Numbers) -> str:
    if not numbers["failed"]:
        return ""
    limits = numbers["limits"]
    if "mini_batch_error_threshold" in limits:
        allowed = f", mini_batch_error_threshold allows {limits['mini_batch_error_threshold']}"
        return f"; {_number(numbers['failed'])} failed so far{allowed}"
    if "error_threshold" in limits:
        items = _count(numbers["failed_items"], "item")
        return f"; {items} failed so far, error_threshold allows {limits['error_threshold']}"
    return f"; {_number(numbers['failed'])} failed so far"


def _cause_words(numbers: Numbers) -> str:
    """The dominant error, or how many different ones."""
    dominant = numbers.get("dominant")
    if isinstance(dominant, Mapping):
        tries = numbers.get("failed_tries")
        share = (
            f"{_number(dominant['count'])} of {_number(tries)} failed tries" if tries else ""
        )
        return f"; {share}: {dominant['title']}" if share else f"; {dominant['title']}"
    if groups := numbers.get("group_count"):
        return f"; the cause is {_number(groups)} different errors" if groups > 1 else ""
    return ""


def _asked_by(choice: HeadlineChoice) -> str:
    at = f" at {choice.numbers['at']}" if choice.numbers["at"] else ""
    note = f' ("{choice.numbers["reason"]}")' if choice.numbers["reason"] else ""
    return f"{choice.decided_by}{at}{note}"


# --- sentences ---------------------------------------------------------------------


def _cancelling(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    numbers = choice.numbers
    running, ended = numbers["processes"], numbers["ended"]
    rest = ""
    if running:
        rest = f": {_number(ended)} of {_count(running + ended, 'process')} have ended"
    return f"Cancelling, asked by {_asked_by(choice)}{rest}."


def _cancelled(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    numbers = choice.numbers
    after = ""
    if facts.kind is JobKind.PARALLEL_RUN_STEP and facts.attempt:
        after = f" after {_number(numbers['done'])} of "
        after += f"{_count(numbers['mini_batches'], 'mini-batch')}"
    elif not facts.attempt:
        after = " before it started"
    return f"Cancelled by {_asked_by(choice)}{after}; no process is left."


def _items_threshold(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Failed: {_count(n.get('value', n['failed_items']), 'item')} failed and "
        f"error_threshold allows {_number(n.get('limit', 0))}{_cause_words(n)}; stopped by "
        f"error_threshold with {_number(n['done'])} of "
        f"{_count(n['mini_batches'], 'mini-batch')} done."
    )


def _mini_batch_threshold(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Failed: {_count(n.get('value', n['failed']), 'mini-batch')} failed and "
        f"mini_batch_error_threshold allows {_number(n.get('limit', 0))}{_cause_words(n)}; "
        "stopped by that threshold."
    )


def _percent(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    failed = _number(n.get("failed_mini_batches", n["failed"]))
    return (
        f"Failed: {failed} of {_count(n['mini_batches'], 'mini-batch')} failed "
        f"({n.get('value', 0):.3g}%) and allowed_failed_percent allows "
        f"{n.get('limit', 0):g}{_cause_words(n)}; decided when all had run."
    )


def _nothing_succeeded(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    if cause := _cause_words(n):
        what = f"no item succeeded in {_count(n['mini_batches'], 'mini-batch')}{cause}"
    else:
        what = (
            f"all {_count(n['mini_batches'], 'mini-batch')} ran but run() returned no item, "
            "so append_row has nothing to write"
        )
    return f"Failed: {what}; decided by the outcome rule, not by a threshold."


def _init_failed(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    failures = n.get("init_failures", 0)
    dominant = n.get("dominant")
    each = f", with {dominant['title']}" if isinstance(dominant, Mapping) else ""
    return (
        f"Failed: init() failed {_count(failures, 'time')} on "
        f"{_count(n.get('node_count', facts.node_count), 'node')} and never succeeded{each}; "
        "decided by the init limit (2 × nodes × processes)."
    )


def _init_failing(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    where = f" on node {', '.join(n['nodes'])}" if n["nodes"] else ""
    state = "Starting" if facts.state is JobState.STARTING else "Running"
    return (
        f"{state}, with a problem: init() has failed {_count(n['failures'], 'time')}{where} "
        f"({n['error']}); the init limit decides when it is too often."
    )


def _main_node_exit(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    after = f" after {duration_words(n['seconds'])}" if n["seconds"] is not None else ""
    rest = "it decides the outcome"
    if n["children"]:
        rest += f", so the {_count(n['children'], 'child node')} were stopped"
        if n["children"] == 1:
            rest = "it decides the outcome, so the child node was stopped"
    return (
        f"Failed: the main node (node {n['main_node']}) exited with code "
        f"{exit_words(n['exit_code'])}{after}; {rest}."
    )


def _command_exit(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    after = f" after {duration_words(n['seconds'])}" if n["seconds"] is not None else ""
    code = exit_words(n["exit_code"])
    return f"Failed: the command exited with code {code}{after}; its exit decides."


def _failed(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    """A cause without a sentence of its own: the recorded reason tells it."""
    reason = facts.reason.rstrip(". ") or "no reason was recorded"
    return f"Failed: {reason}; decided by {_the(choice.decided_by)}."


def _the(decider: str) -> str:
    """Our own parts take an article; people, tokens and settings are names."""
    ours = ("outcome rule", "init limit", "scheduler", "main node", "master role")
    return f"the {decider}" if decider.startswith(ours) else decider


def _succeeded(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Succeeded: {_number(n['succeeded_items'])} of {_count(n['items'], 'item')} in "
        f"{_count(n['mini_batches'], 'mini-batch')} in {duration_words(n['seconds'])}."
    )


def _succeeded_with_failures(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Succeeded, with missing items: {_number(n['failed_items'])} of "
        f"{_count(n['items'], 'item')} failed in {_count(n['failed'], 'mini-batch')}; "
        "the thresholds allow it."
    )


def _duplicates(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Succeeded: {_number(n['succeeded_items'])} of {_count(n['items'], 'item')} in "
        f"{duration_words(n['seconds'])}; {_count(n['duplicates'], 'mini-batch')} ran twice "
        "and the later results were left out, so each item is in the output once."
    )


def _reused(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    return (
        f"Succeeded without running: nothing has changed since job {choice.numbers['job']}, "
        "whose output is used; decided by the reuse setting."
    )


def _succeeded_main(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    after = duration_words(n["seconds"])
    if not n["failed_children"]:
        return f"Succeeded: the main node exited with 0 after {after}; it decides the outcome."
    index, code = next(iter(n["failed_children"].items()))
    more = len(n["failed_children"]) - 1
    others = f" and {_count(more, 'other child node')}" if more else ""
    return (
        f"Succeeded: the main node exited with 0 after {after}; child node {index}{others} "
        f"had failed (code {code}), which does not change the outcome."
    )


def _succeeded_command(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    after = duration_words(choice.numbers["seconds"])
    return f"Succeeded: the command exited with 0 after {after}; its exit decides."


def _running(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Running: {_number(n['done'])} of {_count(n['mini_batches'], 'mini-batch')} done"
        f"{_where(n)}{_left(n)}{_failures_so_far(n)}."
    )


def _running_listing(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Running: {_count(n['done'], 'mini-batch')} done, {_number(n['mini_batches'])} "
        "created so far; the input is still being listed, so there is no end time yet"
        f"{_failures_so_far(n)}."
    )


def _running_early(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Running: {_number(n['done'])} of {_count(n['mini_batches'], 'mini-batch')} done"
        f"{_where(n)}; a time left is shown after 10{_failures_so_far(n)}."
    )


def _running_main(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    on = f"{_count(n['nodes'], 'node')}"
    if n["nodes_running"] is not None:
        on = f"{_number(n['nodes_running'])} of {on}"
    lasting = f" for {duration_words(n['seconds'])}" if n["seconds"] is not None else ""
    limit = f"; time limit {duration_words(n['time_limit'])}" if n["time_limit"] else ""
    decider = (
        f"the main node (node {n['main_node']}) decides the outcome"
        if facts.kind is JobKind.MULTI_NODE
        else "its exit decides the outcome"
    )
    return f"Running on {on}{lasting}; {decider}{limit}."


def _starting(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    reason = facts.reason.rstrip(". ") or "nodes are granted, processes launch"
    return f"Starting: {reason}; decided by the scheduler."


def _waiting(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    reason = facts.reason.rstrip(". ") or "the scheduler has not looked at it yet"
    word = "Submitted" if choice.case == "submitted" else "Waiting"
    if choice.case != "submitted" and reason.startswith("waiting for "):
        return f"W{reason[1:]}; decided by the scheduler."
    return f"{word}: {reason}; decided by the scheduler."


def _attempt_repeated(choice: HeadlineChoice, facts: HeadlineFacts) -> str:
    n = choice.numbers
    return (
        f"Attempt {n['attempt']} of {n['attempt_limit']} failed: "
        f"{facts.reason.rstrip('. ')}; the next one waits for {_count(n['nodes'], 'node')}."
    )


SENTENCES: dict[str, Callable[[HeadlineChoice, HeadlineFacts], str]] = {
    "cancelling": _cancelling,
    "cancelled": _cancelled,
    "error_threshold": _items_threshold,
    "mini_batch_error_threshold": _mini_batch_threshold,
    "allowed_failed_percent": _percent,
    "nothing_succeeded": _nothing_succeeded,
    "init_failed": _init_failed,
    "init_failing": _init_failing,
    "main_node_exit": _main_node_exit,
    "command_exit": _command_exit,
    "failed": _failed,
    "succeeded": _succeeded,
    "succeeded_with_failures": _succeeded_with_failures,
    "duplicates_left_out": _duplicates,
    "reused": _reused,
    "succeeded_main": _succeeded_main,
    "succeeded_command": _succeeded_command,
    "running": _running,
    "running_listing": _running_listing,
    "running_early": _running_early,
    "running_main": _running_main,
    "starting": _starting,
    "submitted": _waiting,
    "waiting_for_jobs": _waiting,
    "waiting_for_nodes": _waiting,
    "attempt_repeated": _attempt_repeated,
}
