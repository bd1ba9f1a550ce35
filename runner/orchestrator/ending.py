"""End a ParallelRunStep job: processes leave, the output is put together, the logs
are closed, and last of all the state says so."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import redis

from prsweb.jobs.dispatch import wake_scheduler
from prsweb.jobs.models import ErrorGroup, Job, JobNode
from prsweb.jobs.models.mini_batch import split_process_key
from prsweb.jobs.services import participation
from prsweb.jobs.services.error_groups import count_failed_tries, find_dominant
from prsweb.jobs.services.recording import count_tries, median_run_seconds
from prsweb.jobs.services.scheduling import end_attempt
from prsweb.jobs.transitions import move_job
from runner.core import job_log_texts as texts
from runner.core import outcome
from runner.core.layout import process_name
from runner.core.messages import Order
from runner.core.outcome import Decision, DominantGroup
from runner.core.states import AZURE_STATUS, JobState
from runner.core.thresholds import is_not_reporting
from runner.orchestrator.assembly import Output, OutputFailed, assemble_output
from runner.orchestrator.job_context import Every
from runner.orchestrator.job_logs import now as wall_clock
from runner.orchestrator.summaries import node_summary, process_summary

if TYPE_CHECKING:
    from runner.orchestrator.step_master import StepMaster

logger = logging.getLogger(__name__)

STOP_GRACE_SECONDS = 10.0  # SIGTERM to SIGKILL
LEAVING_SECONDS = 15.0  # on top of the grace, or of shutdown()
OVERVIEW_SECONDS = 10.0
# Groups of failures of which the process itself could not say anything.
SYSTEM_KINDS = frozenset({"signal", "exit", "died", "oom", "node_lost"})
NOT_REPORTING = (
    "run() returned an empty result for every mini-batch; with summary_only they are left out"
    " of mini_batch_error_threshold and allowed_failed_percent"
)


def end_job(master: StepMaster, decision: Decision) -> None:
    """Bring the job to its final state. Raises MasterLeaseLost or StaleState when
    another master leads it, and OSError never."""
    started_at = time.monotonic()
    _say(master, decision)
    output: Output | None = None
    if decision.is_success:
        _close(master, "end", Order("end"))
        decision, output = _assemble(master, decision)
        timeout = master.context.settings.run_invocation_timeout
        _wait_for_nodes(master, timeout + LEAVING_SECONDS)
    else:
        master.recorder.stop_trying()
        master.participants.is_stopping = True
        _close(master, "stop", Order("stop", STOP_GRACE_SECONDS, decision.sentence))
        _wait_for_nodes(master, STOP_GRACE_SECONDS + LEAVING_SECONDS)
    _end_silent_nodes(master)
    _settle(master, decision, output)
    logger.info(
        "job %d: ended in %.3f s: %s",
        master.context.job.pk,
        time.monotonic() - started_at,
        decision.sentence,
    )


def _say(master: StepMaster, decision: Decision) -> None:
    cause = f" ({decision.cause})" if decision.cause else ""
    master.context.logs.master(f"decided: {decision.sentence}{cause}")


def _close(master: StepMaster, how: str, order: Order) -> None:
    """Grant nothing more and tell the nodes. While Redis is away nobody leases, and
    the nodes are told when the queue is made anew."""
    master.closing = (how, order)
    try:
        master.tell_closing()
    except redis.RedisError as error:
        logger.warning("job %d: nodes not told yet: %s", master.context.job.pk, error)


def _assemble(master: StepMaster, decision: Decision) -> tuple[Decision, Output | None]:
    """Return the decision, another one when the output cannot be written."""
    context = master.context
    if context.settings.is_summary_only:
        return decision, None
    master.progress.phase = "assembling"
    master.progress.write_now()
    line = Every(OVERVIEW_SECONDS)
    line.is_due(time.monotonic())

    def keep(share: float, whole_bytes: int) -> None:
        context.keep_leading()
        if line.is_due(time.monotonic()):
            context.logs.overview(texts.output_progress(100 * share, whole_bytes))

    try:
        output = assemble_output(
            context.job, context.settings, context.folder, on_progress=keep
        )
    except OutputFailed as failed:
        context.logs.master(str(failed), "ERROR")
        return outcome.output_failed(str(failed.path), failed.message), None
    if output.has_replaced:
        warning = f"the output has replaced {output.path.name}, which the script had written"
        participation.add_warnings(context.job, [warning])
    context.logs.overview(texts.output_progress(100, output.size_bytes))
    return decision, output


def _wait_for_nodes(master: StepMaster, seconds: float) -> None:
    """Record until no assignment is left, at most so long."""
    deadline = time.monotonic() + seconds
    while master.participants.parts and time.monotonic() < deadline:
        master.wait()
        master.tick()


def _end_silent_nodes(master: StepMaster) -> None:
    for part in list(master.participants.parts.values()):
        reason = "its processes did not end in time"
        master.context.logs.master(f"node {part.name}: {reason}", "WARNING")
        master.participants.end_lost(part, reason)


# --- what stands when it has ended ---------------------------------------------------


def _settle(master: StepMaster, decision: Decision, output: Output | None) -> None:
    context, job = master.context, master.context.job
    tally = master.recorder.tally
    master.progress.write_now()
    if is_not_reporting(context.settings.limits, tally):
        participation.add_warnings(job, [NOT_REPORTING])
    groups = ErrorGroup.objects.filter(job=job).count()
    dominant = find_dominant(job) if groups else None
    reason = outcome.whole_reason(decision, dominant, group_count=groups)
    cause = outcome.whole_cause(decision, dominant)
    _close_logs(master, decision, dominant, reason, cause, output)
    state = _final_state(decision)
    move_job(
        job,
        state,
        reason=reason,
        actor="master role",
        master_owner=context.owner,
        cause=cause,
        decided_by=decision.facts.get("cancelled_by", "master role"),
        outcome_facts=_facts(master, decision, dominant, groups),
        running_count=0,
        retrying_count=0,
        remaining_seconds=None,
        remaining_seconds_low=None,
        remaining_seconds_high=None,
        is_listing=False,
        phase="",
        **_output_columns(output),
    )
    end_attempt(job, reason=reason)
    context.kinds |= {"state", "progress", "nodes", "processes", "log", "output"}
    context.publish()
    wake_scheduler()
    master.forget_queue()


def _final_state(decision: Decision) -> JobState:
    if decision.is_success:
        return JobState.SUCCEEDED
    return JobState.CANCELLED if decision.cause == "cancelled" else JobState.FAILED


def _output_columns(output: Output | None) -> dict[str, Any]:
    if output is None:
        return {}
    return {
        "output_path": str(output.path),
        "output_rows": output.row_count,
        "output_bytes": output.size_bytes,
        "output_sha256": output.sha256,
    }


def _facts(
    master: StepMaster, decision: Decision, dominant: DominantGroup | None, groups: int
) -> dict[str, Any]:
    job, tally = master.context.job, master.recorder.tally
    facts: dict[str, Any] = {
        "mini_batches": tally.created,
        "done": tally.ended,
        "items": max(master.progress.items, tally.succeeded_items + tally.failed_items),
        "failed_items": tally.failed_items,
        "group_count": groups,
        "run_median_seconds": median_run_seconds(job.pk),
        **decision.facts,
    }
    if groups:
        facts["failed_tries"] = count_failed_tries(job)
    if dominant is not None:
        facts["dominant"] = dominant.facts()
    return facts


def _close_logs(
    master: StepMaster,
    decision: Decision,
    dominant: DominantGroup | None,
    reason: str,
    cause: str | None,
    output: Output | None,
) -> None:
    context, job = master.context, master.context.job
    logs, tally = context.logs, master.recorder.tally
    master.progress.write_errors()
    logs.write(context.folder.job_report / "process_summary.csv", process_summary(job))
    logs.write(context.folder.job_report / "node_summary.csv", node_summary(job))
    first_error = _first_error(job, dominant, context.settings.run_max_try)
    ended_at = wall_clock()
    result = texts.JobResult(
        status=AZURE_STATUS[_final_state(decision)],
        reason=reason,
        cause=cause,
        decided_by=decision.facts.get("cancelled_by", f"master role on {logs.host}"),
        decided_at=ended_at,
        next_step=outcome.next_step(decision, dominant, job_id=job.job_id),
        first_error=first_error,
        look_at=first_error.log if first_error else "",
        tally=tally,
        items=tally.items_in_all(master.progress.items),
        tries=count_tries(job.pk),
        repeated=master.recorder.repeated,
        output=_output_facts(master, output),
        seconds=(ended_at - (job.running_at or job.submitted_at)).total_seconds(),
        listing_seconds=master.clocks.listing_seconds,
        warnings=job.warnings,
    )
    master.progress.write_progress_line(None)
    logs.overview(f"{result.status}: {result.reason}")
    next_step = result.next_step and f"What to do next: {result.next_step}"
    for line in (next_step, result.look_at and f"Look at {result.look_at}"):
        if line:
            logs.overview(line)
    logs.overview(f"Master role on {logs.host} ended.")
    logs.result(result)


def _output_facts(master: StepMaster, output: Output | None) -> texts.OutputFacts | None:
    if output is None:
        return None
    folder = master.context.folder.root
    inside = output.path.is_relative_to(folder)
    shown = output.path.relative_to(folder) if inside else output.path
    return texts.OutputFacts(str(shown), output.row_count, output.size_bytes, output.sha256)


def _first_error(
    job: Job, dominant: DominantGroup | None, run_max_try: int
) -> texts.FirstError | None:
    """Return the first error of the dominant group, else of the earliest one."""
    groups = ErrorGroup.objects.filter(job=job)
    if dominant is not None:
        groups = groups.filter(fingerprint=dominant.fingerprint)
    group = groups.order_by("first_at", "pk").first()
    if group is None:
        return None
    node, process = "", ""
    if group.first_process is not None:
        index, number = split_process_key(group.first_process)
        names = JobNode.objects.filter(job=job, index=index)
        node = names.values_list("node_name", flat=True).first() or f"node {index}"
        process = process_name(number)
    has_user_log = bool(group.traceback) and group.kind not in SYSTEM_KINDS
    return texts.FirstError(
        has_user_log=has_user_log,
        title=group.title,
        mini_batch=group.first_mini_batch,
        try_number=group.first_try,
        run_max_try=run_max_try,
        node=node,
        process=process,
    )
