"""What ends a job besides its results: nodes that give up, and time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prsweb.jobs.models import Node
from runner.core import outcome
from runner.core.deadlines import Moment, find_expired
from runner.core.init_rules import is_stuck
from runner.core.outcome import Decision
from runner.core.states import NodeState
from runner.orchestrator.job_logs import now as wall_clock

if TYPE_CHECKING:
    from runner.orchestrator.step_master import StepMaster

NODELESS_SECONDS = 2.0  # two looks of the scheduler: a free node would be granted


@dataclass
class Clocks:
    """When things happened last, on the monotonic clock."""

    last_end: float = field(default_factory=time.monotonic)  # of any try or init()
    nodeless_since: float | None = None
    listing_seconds: float = 0.0


def decide_by_nodes(master: StepMaster) -> Decision | None:
    """Apply the init rules of the job, and notice when no node can go on."""
    running_at = master.context.job.running_at
    inits = master.participants.job_inits(_wanted_processes(master))
    if running_at is not None:
        seconds = (wall_clock() - running_at).total_seconds()
        if inits.is_failed(running_seconds=seconds):
            return _init_failed(master, all_gave_up=False)
    return _no_node_left(master)


def _wanted_processes(master: StepMaster) -> int:
    """Return node_count x processes, as far as nodes have told theirs."""
    step = master.context.settings
    each = step.process_count_per_node or master.participants.most_processes
    return step.node_count * max(1, each)


def _init_failed(master: StepMaster, *, all_gave_up: bool) -> Decision:
    inits = master.participants.job_inits(_wanted_processes(master))
    nodes = len(master.participants.node_names)
    return outcome.init_failed(
        failures=inits.failures, limit=inits.limit, nodes=nodes, all_gave_up=all_gave_up
    )


def _no_node_left(master: StepMaster) -> Decision | None:
    refusals, since = master.participants.refusals, master.clocks.nodeless_since
    if not refusals or since is None or time.monotonic() - since < NODELESS_SECONDS:
        return None
    if _has_free_node(master):
        return None
    last = refusals[-1]
    inits = master.participants.job_inits(_wanted_processes(master))
    if last.cause == "init_failed" and not inits.has_succeeded:
        return _init_failed(master, all_gave_up=True)
    return outcome.no_node_left(last.cause, last.reason, nodes=len(refusals))


def _has_free_node(master: StepMaster) -> bool:
    """Whether a node that has not refused the job could be granted to it."""
    job = master.context.job
    refused = {one.node_name for one in master.participants.refusals}
    free = Node.objects.filter(state=NodeState.ONLINE, job=None).exclude(name__in=refused)
    allowed = set(job.queue.environments)
    environments = free.values_list("environment", flat=True)
    return any(name is None or name in allowed for name in environments)


def decide_by_clocks(master: StepMaster) -> Decision | None:
    """Apply the deadlines; they count from RUNNING."""
    running_at = master.context.job.running_at
    if running_at is None:
        return None
    tally, participants = master.recorder.tally, master.participants
    silent = time.monotonic() - master.clocks.last_end
    moment = Moment(
        running_seconds=(wall_clock() - running_at).total_seconds(),
        created=tally.created,
        is_listing=tally.is_listing,
        seconds_since_end=silent if participants.parts else None,
        ready_processes=participants.ready_count,
    )
    expired = find_expired(master.context.settings.deadlines, moment)
    if expired is not None:
        return outcome.by_deadline(expired, tally)
    phases = [one.phase for one in master.progress.live if one.phase not in ("died", "ended")]
    limit = master.context.settings.run_invocation_timeout
    if participants.parts and is_stuck(
        phases, seconds_since_event=silent, run_invocation_timeout=limit
    ):
        return outcome.init_stuck(seconds=silent, processes=len(phases))
    return None
