"""Why a job ended, in words: cause, reason, who decided, what to do next. Pure.

``Job.outcome_facts`` keeps the numbers behind the sentence, so that a headline
can be made in any language. Its members (those that apply; absent otherwise):

  setting, limit, value     of the setting that decided
  failed_mini_batches       failed and partial, as that setting counts them
  failed_items, items, mini_batches, done
                            of the whole job at its end
  dominant                  {"fingerprint", "kind", "title", "place", "count"}
                            of the group with at least half of the failed tries
  group_count               error groups of the job
  failed_tries              tries that failed
  init_failures, init_limit, node_count
                            of the init rules
  run_median_seconds        of the mini-batches that finished
  results                   returned by run(), for nothing_succeeded
  seconds                   for deadlines: how long it had lasted
  path                      for no_input, input_unreadable, output_failed
  cancelled_by, cancel_reason, stopped_processes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.core.deadlines import Expired
from runner.core.error_groups import cause_of_group
from runner.core.thresholds import Exceeded, Tally

# Kinds of groups whose title is an exception's type and message; the place says the rest.
# An unreadable input has no place: its message names the file.
KINDS_WITH_STACK = frozenset({"exception", "init_failed", "import_failed"})


@dataclass(frozen=True)
class DominantGroup:
    """The error group with at least half of the failed tries."""

    fingerprint: str
    kind: str
    title: str
    place: str
    count: int  # its tries
    failed_tries: int  # of the whole job
    status: int | None = None  # wire status of its first try

    @property
    def cause(self) -> str:
        return cause_of_group(self.kind, self.status)

    def __str__(self) -> str:
        name = self.title.split(":", 1)[0] if self.kind in KINDS_WITH_STACK else self.title
        place = f" at {self.place}" if self.place else ""
        return f"{self.count:,} of {self.failed_tries:,} failed tries: {name}{place}"

    def facts(self) -> dict[str, Any]:
        return {
            "fingerprint": self.fingerprint,
            "kind": self.kind,
            "title": self.title,
            "place": self.place,
            "count": self.count,
        }


@dataclass(frozen=True)
class Decision:
    """The rule that ended the job. ``cause`` is empty after a success."""

    cause: str
    sentence: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    has_dominant: bool = True  # whether the dominant group belongs to the story

    @property
    def is_success(self) -> bool:
        return not self.cause


def whole_cause(decision: Decision, dominant: DominantGroup | None) -> str | None:
    """Return ``error_threshold / run_exception``; None after a success."""
    if decision.is_success:
        return None
    if dominant is None or not decision.has_dominant or dominant.cause == decision.cause:
        return decision.cause
    return f"{decision.cause} / {dominant.cause}"


def whole_reason(
    decision: Decision, dominant: DominantGroup | None, *, group_count: int = 0
) -> str:
    """Return the one sentence: rule that decided, then the dominant cause."""
    if decision.is_success or not decision.has_dominant or not group_count:
        return decision.sentence
    if dominant is None:
        return f"{decision.sentence}; {group_count} different errors."
    return f"{decision.sentence}; {dominant}."


# --- the rules, one sentence each ---------------------------------------------------


def succeeded(tally: Tally) -> Decision:
    if not tally.partial and not tally.failed:
        what = "all {:,} mini-batches were" if tally.created != 1 else "the {:,} mini-batch was"
        return Decision("", f"{what.format(tally.created)} processed")
    return Decision(
        "",
        f"all {tally.created:,} mini-batches were processed, {tally.failed:,} of them failed,"
        f" {tally.partial:,} partial",
        {"failed_mini_batches": tally.failed + tally.partial},
    )


def by_threshold(exceeded: Exceeded, tally: Tally) -> Decision:
    limit = f"{exceeded.setting} is {exceeded.limit:g}"
    if exceeded.setting == "error_threshold":
        sentence = f"{exceeded.failed:,} items failed, {limit}"
    elif exceeded.setting == "allowed_failed_percent":
        sentence = (
            f"{exceeded.failed:,} of {tally.created:,} mini-batches failed"
            f" ({exceeded.value:.3g} %), {limit}"
        )
    else:
        sentence = f"{exceeded.failed:,} mini-batches failed, {limit}"
    facts = {
        "setting": exceeded.setting,
        "limit": exceeded.limit,
        "value": exceeded.value,
        "failed_mini_batches": tally.failed + tally.partial,
    }
    return Decision(exceeded.setting, sentence, facts)


def nothing_succeeded(tally: Tally, *, items: int) -> Decision:
    if tally.failed:
        sentence = (
            f"no item succeeded: {tally.failed:,} of {tally.created:,} mini-batches failed"
        )
    else:
        sentence = (
            f"no item succeeded: run() returned {tally.results:,} results for {items:,} items"
            f" in {tally.created:,} mini-batches"
        )
    return Decision("nothing_succeeded", sentence, {"results": tally.results})


def no_input(paths: str) -> Decision:
    sentence = f"the input has no item: {paths}"
    return Decision("no_input", sentence, {"path": paths}, has_dominant=False)


def input_unreadable(path: str, message: str) -> Decision:
    sentence = f"the input cannot be read: {path}: {message}"
    return Decision("input_unreadable", sentence, {"path": path}, has_dominant=False)


def init_failed(*, failures: int, limit: int, nodes: int, all_gave_up: bool) -> Decision:
    """By the rule of the whole job, or because every node has given up by its own."""
    rule = "every node gave up" if all_gave_up else f"the limit is {limit:,}"
    sentence = (
        f"init() failed {failures:,} times on {nodes} node{'' if nodes == 1 else 's'}"
        f" and never succeeded, {rule}"
    )
    facts = {"init_failures": failures, "init_limit": limit, "node_count": nodes}
    return Decision("init_failed", sentence, facts)


def entry_script_invalid(message: str) -> Decision:
    sentence = f"the entry script cannot be used: {message}"
    return Decision("entry_script_invalid", sentence, has_dominant=False)


def init_stuck(*, seconds: float, processes: int) -> Decision:
    sentence = f"all {processes} processes have been inside init() for {seconds:.0f} s"
    return Decision("init_stuck", sentence, {"seconds": seconds}, has_dominant=False)


def by_deadline(expired: Expired, tally: Tally) -> Decision:
    limit = f"{expired.setting} is {expired.limit_seconds:g} s"
    what = {
        "time_limit": f"the job ran for {expired.seconds:.0f} s, {limit};"
        f" {tally.ended:,} of {tally.created:,} mini-batches were done",
        "first_task_timeout": f"no mini-batch was created in {expired.seconds:.0f} s, {limit}",
        "no_progress": f"no mini-batch finished for {expired.seconds:.0f} s, {limit}",
    }[expired.cause]
    facts = {
        "setting": expired.setting,
        "limit": expired.limit_seconds,
        "value": expired.seconds,
        "seconds": expired.seconds,
    }
    return Decision(expired.cause, what, facts, has_dominant=False)


def no_node_left(cause: str, reason: str, *, nodes: int) -> Decision:
    """Every node granted has given up, with the cause the last one gave."""
    which = "the node" if nodes == 1 else f"all {nodes} nodes"
    sentence = f"{which} gave up: {reason.rstrip('.')}"
    return Decision(cause or "no_node_left", sentence, {"node_count": nodes})


def output_failed(path: str, message: str) -> Decision:
    sentence = f"the output could not be written: {path}: {message}"
    return Decision("output_failed", sentence, {"path": path}, has_dominant=False)


def system_error(message: str) -> Decision:
    return Decision("system_error", f"prsweb itself failed: {message}", has_dominant=False)


def cancelled(by: str, reason: str) -> Decision:
    note = f' ("{reason}")' if reason else ""
    facts = {"cancelled_by": by, "cancel_reason": reason}
    return Decision("cancelled", f"cancelled by {by}{note}", facts, has_dominant=False)


# --- what to do next ---------------------------------------------------------------

_NEXT = {
    "no_input": "check path and pattern, then ./prs resubmit {job}",
    "input_unreadable": "check path and read right, then ./prs resubmit {job}",
    "entry_script_invalid": "correct the script, then ./prs resubmit {job}",
    "environment_failed": "correct the named requirement or interpreter,"
    " then ./prs resubmit {job}",
    "side_input_missing": "use stage: copy or a shared folder, then ./prs resubmit {job}",
    "init_failed": "correct {place}; a missing module belongs into environment, a missing file"
    " into source_directory, side_inputs or models; then ./prs resubmit {job}",
    "init_stuck": "download models beforehand, or raise run_invocation_timeout",
    "no_progress": "look at the stacks and the CPU of the processes, and at logs/sys/error",
    "first_task_timeout": "look at the store of the input, or raise"
    " first_task_creation_timeout",
    "time_limit": "./prs resubmit {job}, with a larger time_limit",
    "output_failed": "make the folder writable; the rows are kept: ./prs resubmit {job}",
    "output_not_writable": "make room or the folder writable; the rows are kept:"
    " ./prs resubmit {job}",
    "system_error": "nothing to change in the script: ./prs resubmit {job}",
    "no_node_left": "see the nodes page, then ./prs resubmit {job}",
    "cancelled": "./prs resubmit {job} runs it again",
}
_NEXT_OF_DOMINANT = {
    "run_exception": "correct {place}, then ./prs resubmit {job}",
    "run_timeout": "fewer items per mini-batch, fewer processes or a longer"
    " run_invocation_timeout, then ./prs resubmit {job}",
    "wrong_return_type": "return a list, tuple, DataFrame, array or Series with one result per"
    " item, then ./prs resubmit {job}",
    "missing_results": "return one result per item, then ./prs resubmit {job}",
    "load_failed": "look at the named file, then ./prs resubmit {job}",
    "out_of_memory": "fewer processes per node or smaller mini-batches, then"
    " ./prs resubmit {job}",
    "process_died": "fewer processes or smaller mini-batches, or correct what ended the"
    " process, then ./prs resubmit {job}",
    "nodes_lost": "see the nodes page, then ./prs resubmit {job}",
    "init_failed": "correct {place}, then ./prs resubmit {job}",
}


def next_step(decision: Decision, dominant: DominantGroup | None, *, job_id: str) -> str:
    """Return what the reader should do, empty after a success without failures."""
    if decision.is_success and not decision.facts:
        return ""
    place = (dominant.place if dominant else "") or "the script"
    text = _NEXT.get(decision.cause, "")
    if not text and dominant is not None:
        text = _NEXT_OF_DOMINANT[dominant.cause]
    text = text or "look at the error groups, then ./prs resubmit {job}"
    return text.format(job=job_id[:8], place=place)
