"""The nodes and worker processes of one job, as their reports tell.

Reports may come again, after a take-over all of them: everything here is
noted once, by process number.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from prsweb.jobs.models import Job, JobNode
from prsweb.jobs.models.mini_batch import process_key
from prsweb.jobs.services import participation
from prsweb.jobs.services.error_groups import GroupBook
from prsweb.jobs.transitions import move_job
from runner.core import job_log_texts as texts
from runner.core import messages
from runner.core.error_groups import CaughtError, Group, group_init
from runner.core.init_rules import JobInits, NodeInits
from runner.core.layout import process_name
from runner.core.states import JobNodeState, JobState
from runner.orchestrator.job_logs import JobLogs
from runner.orchestrator.mini_batch_report import MiniBatchReport

logger = logging.getLogger(__name__)


@dataclass
class Part:
    """One assignment that has not ended."""

    job_node: JobNode
    inits: NodeInits
    has_joined: bool = False
    started: set[int] = field(default_factory=set)  # process numbers
    ready: set[int] = field(default_factory=set)
    failed_inits: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    astray_since: float | None = None  # the node beats, but not with this assignment

    @property
    def number(self) -> int:
        return self.job_node.assignment

    @property
    def name(self) -> str:
        return self.job_node.node_name


@dataclass(frozen=True)
class Refusal:
    """A node that gave the job up."""

    node_name: str
    cause: str
    reason: str


@dataclass
class Happened:
    """What a batch of reports has led to, to be acted on when it is committed."""

    kinds: set[str] = field(default_factory=set)  # facts for pages
    overview: list[str] = field(default_factory=list)
    over: list[Part] = field(default_factory=list)  # ended or refused: leases go back
    has_ended_something: bool = False  # a try or an init(): there is progress
    invalid_script: str = ""


class Participants:
    def __init__(
        self, job: Job, owner: str, groups: GroupBook, logs: JobLogs, report: MiniBatchReport
    ) -> None:
        self._job = job
        self._owner = owner
        self._groups = groups
        self._logs = logs
        self._report = report
        self.parts: dict[int, Part] = {}
        self.node_names: dict[int, str] = {}  # by node index, also of those that have left
        self.is_stopping = False  # the job is ended early: its nodes have not failed
        self.refusals: list[Refusal] = []
        self.most_processes = 0  # on one node
        self._former_inits: list[NodeInits] = []  # of parts that have ended

    def refresh(self) -> list[Part]:
        """Take in what the scheduler has granted; return the new parts."""
        rows = JobNode.objects.filter(job=self._job, attempt=self._job.attempt)
        fresh = []
        for row in rows.order_by("assignment"):
            self.node_names[row.index] = row.node_name
            self.most_processes = max(self.most_processes, row.process_count)
            if row.state == JobNodeState.FAILED:
                self._note_refused(row)
            is_live = row.state in (JobNodeState.STARTING, JobNodeState.RUNNING)
            if is_live and row.assignment not in self.parts:
                part = Part(row, NodeInits(row.process_count))
                part.has_joined = row.state == JobNodeState.RUNNING  # told before
                self.parts[row.assignment] = part
                fresh.append(part)
        return fresh

    def _note_refused(self, row: JobNode) -> None:
        if all(row.node_name != one.node_name for one in self.refusals):
            self.refusals.append(Refusal(row.node_name, "", row.state_reason))

    @property
    def process_count(self) -> int:
        return sum(part.job_node.process_count for part in self.parts.values())

    @property
    def ready_count(self) -> int:
        return sum(len(part.ready - part.ended) for part in self.parts.values())

    def job_inits(self, wanted_processes: int) -> JobInits:
        """Return the init() calls of all nodes; rule 2 reads them."""
        inits = [part.inits for part in self.parts.values()] + self._former_inits
        return JobInits(
            failures=sum(one.failures for one in inits),
            has_succeeded=any(one.has_succeeded for one in inits),
            process_count=wanted_processes,
        )

    # --- one report -------------------------------------------------------------------

    def take(self, report: messages.Report, happened: Happened) -> None:
        """Note one report, inside the recorder's transaction."""
        part = self.parts.get(report.assignment)
        if part is None:
            self.refresh()
            part = self.parts.get(report.assignment)
        match report:
            case messages.SamplesTaken():
                if participation.add_samples(self._job, report):
                    happened.kinds.add("samples")
            case messages.MetricLogged():
                participation.add_metric(
                    self._job, name=report.name, value=report.value, at=report.at
                )
                happened.kinds.add("progress")
            case messages.WarningRaised():
                participation.add_warnings(self._job, [report.text])
                happened.kinds.add("progress")
            case messages.ProcessEnded():
                self._process_ended(part, report, happened)
            case _ if part is None:
                return  # told before: the assignment is over
            case messages.NodeJoined():
                self._node_joined(part, report, happened)
            case messages.NodeRefused():
                self._node_refused(part, report, happened)
            case messages.ProcessStarted():
                self._process_started(part, report, happened)
            case messages.ProcessReady():
                self._process_ready(part, report, happened)
            case messages.InitFailed():
                self._init_failed(part, report, happened)
            case messages.AssignmentEnded():
                self._assignment_ended(part, report, happened)
            case _:
                logger.warning("job %d: report %s dropped", self._job.pk, report.type)

    def _node_joined(self, part: Part, report: messages.NodeJoined, happened: Happened) -> None:
        if part.has_joined:
            return
        part.has_joined = True
        processes = report.process_count or part.job_node.process_count
        happened.overview.append(texts.node_joined(part.name, processes))
        with_processes = texts.process_count(processes)
        participation.note_event(
            self._job, "node_joined", f"node {part.name} joined with {with_processes}"
        )
        happened.kinds.add("nodes")

    def _node_refused(
        self, part: Part, report: messages.NodeRefused, happened: Happened
    ) -> None:
        reason = report.reason or "it did not say why"
        self.refusals.append(Refusal(part.name, report.cause, reason))
        self._end(part, JobNodeState.FAILED, f"gave up: {reason}", happened)
        happened.overview.append(texts.node_gave_up(part.name, reason))
        self._logs.driver(texts.node_gave_up(part.name, reason))
        participation.note_event(
            self._job, "node_gave_up", f"node {part.name} gave up: {reason}"
        )

    def _process_started(
        self, part: Part, report: messages.ProcessStarted, happened: Happened
    ) -> None:
        if report.process in part.started:
            return
        part.started.add(report.process)
        if participation.start_process(self._job, part.job_node, report):
            gpu = "" if report.gpu is None else f", GPU {report.gpu}"
            facts = f"started, pid {report.pid}, segment {report.segment}{gpu}"
            self._logs.driver_launch(part.name, report.process, facts)
        if self._job.state == JobState.STARTING:
            move_job(
                self._job,
                JobState.RUNNING,
                reason=f"the first process was started on node {part.name}",
                actor="master role",
                master_owner=self._owner,
            )
            happened.kinds.add("state")
        happened.kinds |= {"processes", "nodes"}

    def _process_ready(
        self, part: Part, report: messages.ProcessReady, happened: Happened
    ) -> None:
        if report.process in part.ready:
            return
        part.ready.add(report.process)
        part.inits.note_success()
        happened.has_ended_something = True
        happened.kinds.add("processes")
        is_new = participation.note_process_ready(
            self._job, node_index=report.node_index, number=report.process, at=report.at
        )
        if is_new:
            self._add_init_row(part, report.process, report.at, report.init_seconds, None)

    def _init_failed(self, part: Part, report: messages.InitFailed, happened: Happened) -> None:
        error = CaughtError.from_wire(report.error)
        group = self._groups.resolve(group_init(error), error)
        if self._note_init_failure(part, report.process, report.at, group, happened):
            self._add_init_row(
                part, report.process, report.at, report.init_seconds, group.title
            )
        if report.invalid_script:
            happened.invalid_script = group.title

    def _process_ended(
        self, part: Part | None, report: messages.ProcessEnded, happened: Happened
    ) -> None:
        is_new = participation.end_process(self._job, report)
        happened.kinds.add("processes")
        if part is None or report.process in part.ended:
            return
        part.ended.add(report.process)
        if report.expected or report.process in part.ready:
            if is_new and not report.expected:
                self._logs.master(
                    f"node {part.name} {process_name(report.process)}: {report.end}", "WARNING"
                )
            return
        if is_new:
            self._logs.driver_launch(part.name, report.process, report.end)
            self._logs.driver_stderr(part.name, report.process)
        kind = f"signal:{report.signal}" if report.signal else f"exit:{report.exit_code}"
        group = Group(kind, kind.partition(":")[0], f"Process in init(): {report.end}")
        if self._note_init_failure(part, report.process, report.at, group, happened):
            self._add_init_row(part, report.process, report.at, 0.0, group.title)

    def _note_init_failure(
        self, part: Part, process: int, at: float, group: Group, happened: Happened
    ) -> bool:
        """Count a failed init() once a process; True if it was new."""
        if process in part.failed_inits:
            return False
        part.failed_inits.add(process)
        part.inits.note_failure()
        self._groups.note_init(
            group,
            process=process_key(part.job_node.index, process),
            node_name=part.name,
            at=participation.at_time(at),
        )
        happened.has_ended_something = True
        happened.kinds |= {"errors", "processes"}
        self._logs.master(
            f"node {part.name} {process_name(process)}: init failed: {group.title}", "WARNING"
        )
        return True

    def _add_init_row(
        self, part: Part, process: int, at: float, seconds: float, message: str | None
    ) -> None:
        self._report.add_init(
            node=part.name, process=process, at=at, seconds=seconds, message=message
        )

    def _assignment_ended(
        self, part: Part, report: messages.AssignmentEnded, happened: Happened
    ) -> None:
        reason = report.reason or "its processes have ended"
        if part.job_node.state == JobNodeState.STARTING:
            reason = report.reason or "released without work"
        target = JobNodeState.STOPPED if self.is_stopping else JobNodeState.SUCCEEDED
        self._end(part, target, reason, happened)

    def _end(self, part: Part, target: JobNodeState, reason: str, happened: Happened) -> None:
        participation.end_job_node(part.job_node, target, reason=reason)
        self._forget(part)
        happened.over.append(part)
        happened.kinds |= {"nodes", "processes"}

    def end_lost(self, part: Part, reason: str, *, gone_back: int = 0) -> None:
        """End the part of a node that gives no sign of life any more."""
        participation.end_job_node(part.job_node, JobNodeState.LOST, reason=reason)
        self._forget(part)
        text = f"{texts.node_lost(part.name, gone_back)} {reason}"
        participation.note_event(self._job, "node_lost", text)

    def _forget(self, part: Part) -> None:
        self.parts.pop(part.number, None)
        self._former_inits.append(part.inits)
