"""Lead one multi-node or plain job: main first, its exit decides, then stop the rest.

Every report is acted on once, however often it comes: by Redis, which is quick,
and by the nodes' journals, which are read now and then and are never lost.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import redis
from django.conf import settings

from prsweb.jobs.models import Job, JobNode
from prsweb.jobs.services import gang, participation
from prsweb.jobs.services.master_lease import renew_master_lease
from runner.core import gang_outcome as outcome
from runner.core.gang_outcome import GangDecision
from runner.core.init_rules import NodeInits
from runner.core.journal import read_reports
from runner.core.layout import JobFolder
from runner.core.messages import (
    AssignmentEnded,
    CommandEnded,
    CommandStarted,
    MalformedMessage,
    NodeJoined,
    NodeRefused,
    Order,
    Report,
    SamplesTaken,
    parse_report,
)
from runner.core.redis_keys import JobKeys
from runner.core.states import JobNodeState
from runner.orchestrator.events import Events
from runner.orchestrator.gang_files import read_exit, write_result
from runner.orchestrator.job_context import Every
from runner.orchestrator.node_watch import Lost, NodeWatch
from runner.orchestrator.participants import Part

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.25
AWAY_SECONDS = 0.5
CANCEL_LOOK_SECONDS = 0.4
WATCH_SECONDS = 1.0
JOURNAL_SECONDS = 2.0
RENEW_SECONDS = 5.0
ORDER_SECONDS = 3.0  # before a stop is told again
LEAVING_SECONDS = 15.0  # for the nodes, on top of the grace
ORDERS_EXPIRE_SECONDS = 24 * 3600
DEFAULT_GRACE_SECONDS = 30.0
STARTING_SECONDS = float(os.environ.get("PRSWEB_STARTING_TIMEOUT") or 300)
NODE_STOPPED = "node stopped"  # the reason of a CommandEnded, see runner.node


def lead_gang(job: Job, owner: str, client: redis.Redis, stop: threading.Event) -> None:
    """Lead ``job`` until its attempt has ended, or this orchestrator ends.

    Raises MasterLeaseLost or StaleState when another master leads it.
    """
    GangMaster(job, owner, client, stop).lead()


class GangMaster:
    def __init__(
        self, job: Job, owner: str, client: redis.Redis, stop: threading.Event
    ) -> None:
        self.job = job
        self.owner = owner
        self.folder: JobFolder = settings.PRSWEB_HOME.job(job.job_id)
        self._client = client
        self._stop = stop
        self._keys = JobKeys(job.job_id)
        self._events = Events(client)
        self._watch = NodeWatch(client, job.job_id)
        self._kinds: set[str] = set()  # facts for pages
        self._decision: GangDecision | None = None
        self._leave_by = 0.0  # monotonic; nodes that are there after it count as lost
        self._main = job.main_node or 0
        self._parts: dict[int, Part] = {}  # by assignment, those that have not ended
        self._rows: dict[int, JobNode] = {}  # by node index
        self._every = {
            name: Every(seconds)
            for name, seconds in (
                ("renew", RENEW_SECONDS),
                ("cancel", CANCEL_LOOK_SECONDS),
                ("watch", WATCH_SECONDS),
                ("journal", JOURNAL_SECONDS),
                ("order", ORDER_SECONDS),
            )
        }

    # -- the loop ----------------------------------------------------------------

    def lead(self) -> None:
        self.begin()
        while not self._stop.is_set() and not self.look():
            self.wait()

    def look(self) -> bool:
        """Act on what has come; True once the attempt has ended."""
        self._tick()
        if self._decision is None or self._parts:
            return False
        self._settle(self._decision)
        return True

    def begin(self) -> None:
        self.folder.shared.mkdir(parents=True, exist_ok=True)
        self.folder.logs.mkdir(parents=True, exist_ok=True)
        for row in gang.find_gang(self.job):
            self._rows[row.index] = row
            if not gang.is_ended(row):
                self._parts[row.assignment] = Part(row, NodeInits(1))
        self._decision = gang.find_decision(self.job)
        if self._decision is not None:
            self._obey_decision()
        elif not self._rows:
            self._decide(outcome.grant_undone("?", "no node was granted"))

    def _tick(self) -> None:
        now = time.monotonic()
        if self._every["renew"].is_due(now):
            renew_master_lease(self.job, self.owner)
        try:
            self._read_reports()
            if self._every["watch"].is_due(now):
                self._look_after_nodes(now)
        except redis.RedisError as error:
            logger.debug("job %d: Redis is away: %s", self.job.pk, error)
        if self._every["journal"].is_due(now):
            for part in list(self._parts.values()):
                self._read_journal(part)
        if self._every["cancel"].is_due(now):
            self._look_for_cancel()
        self._look_at_clocks(now)
        self._publish()

    def wait(self) -> None:
        """Wait for the bell or the next tick."""
        try:
            self._client.blpop([self._keys.wake], timeout=TICK_SECONDS)
        except redis.RedisError:
            self._stop.wait(AWAY_SECONDS)

    # -- reports -----------------------------------------------------------------

    def _read_reports(self) -> None:
        while reports := self._client.lrange(self._keys.reports, 0, 99):
            for report in reports:
                self._take_bytes(report)
            self._client.ltrim(self._keys.reports, len(reports), -1)

    def _read_journal(self, part: Part) -> None:
        try:
            with self.folder.journal(part.name, part.number).open("rb") as file:
                for report in read_reports(file):
                    self._take_bytes(report)
        except FileNotFoundError:
            return  # not begun yet
        except OSError as error:
            logger.warning("job %d: journal of %s: %s", self.job.pk, part.name, error)

    def _take_bytes(self, content: bytes) -> None:
        try:
            report = parse_report(content)
        except MalformedMessage as malformed:
            logger.warning("job %d: report dropped: %s", self.job.pk, malformed)
            return
        if isinstance(report, SamplesTaken):
            if participation.add_samples(self.job, report):
                self._kinds.add("samples")
            return
        part = self._parts.get(report.assignment)
        if part is not None:  # else it has ended: told before
            self._take(part, report)

    def _take(self, part: Part, report: Report) -> None:
        match report:
            case NodeJoined():
                part.has_joined = True
            case CommandStarted():
                self._note_started(part, report.at)
            case CommandEnded():
                self._note_ended(part, report)
            case NodeRefused():
                self._note_refused(part, report)
            case AssignmentEnded() if not part.has_joined:  # it refused: too late
                self._end(part, JobNodeState.FAILED, outcome.MAIN_EXITED_FIRST)

    def _note_started(self, part: Part, at: float) -> None:
        row = part.job_node
        if row.state != JobNodeState.STARTING:
            return
        if not self._is_main(row):
            gang.start_child(row, at=at)
        else:
            for child in gang.start_main(self.job, row, at=at, owner=self.owner):
                self._parts[child.assignment].job_node = self._rows[child.index] = child
        self._kinds |= {"state", "nodes", "log"}

    def _note_ended(self, part: Part, report: CommandEnded) -> None:
        row = part.job_node
        if report.exit_code is not None:
            self._note_started(part, report.at)  # unless that was told
        if self._is_main(row):
            self._decide(self._judge_main(row, report))
        is_good = report.exit_code == 0 and not (self._is_main(row) and report.stopped)
        self._end(
            part,
            JobNodeState.SUCCEEDED if is_good else JobNodeState.FAILED,
            _end_in_words(report, is_stopped_with_main=not self._is_main(row)),
            at=report.at,
            exit_code=report.exit_code,
            signal=report.signal,
        )
        if not is_good and not self._is_main(row) and not report.stopped:
            self._judge_child(row.index, report.exit_code)

    def _judge_main(self, row: JobNode, report: CommandEnded) -> GangDecision:
        if report.exit_code is None:
            return outcome.could_not_start(report.reason)
        if report.stopped:
            # Not by our order, for then the outcome was fixed before.
            why = report.reason if report.reason == NODE_STOPPED else "its agent ended"
            return outcome.main_lost(row.node_name, why)
        return self._main_ended(report.exit_code, report.signal, report.reason)

    def _main_ended(self, exit_code: int, signal: int | None, reason: str) -> GangDecision:
        return outcome.main_ended(
            self.job.kind,
            exit_code=exit_code,
            signal=signal,
            container_reason=reason,
            main_node=self._main,
        )

    def _judge_child(self, index: int, exit_code: int | None) -> None:
        if self.job.spec.get("fail_on_child_failure"):
            self._decide(outcome.child_failed(index, exit_code))

    def _note_refused(self, part: Part, report: NodeRefused) -> None:
        row = part.job_node
        if self._is_main(row):
            self._decide(outcome.could_not_start(f"{report.reason} (node {row.node_name})"))
        self._end(part, JobNodeState.FAILED, report.reason or "the node gave it up")

    def _end(
        self,
        part: Part,
        target: JobNodeState,
        reason: str,
        at: float | None = None,
        **facts: Any,
    ) -> None:
        gang.end_part(part.job_node, target, reason=reason, at=at, **facts)
        del self._parts[part.number]
        self._kinds |= {"nodes", "log"}

    # -- what else may happen ----------------------------------------------------

    def _look_after_nodes(self, now: float) -> None:
        """Raises redis.RedisError while Redis is away."""
        for part in self._parts.values():
            if part.job_node.state == JobNodeState.SUBMITTED:
                part.astray_since = None  # it has not been sent its assignment
        for lost in self._watch.find_lost(list(self._parts.values()), now):
            self._lose(lost)

    def _lose(self, lost: Lost) -> None:
        part, row = lost.part, lost.part.job_node
        self._read_journal(part)
        if part.number not in self._parts:
            return  # its journal says that it had ended
        if self._is_main(row):
            self._decide(self._judge_lost_main(row, lost.reason))
        elif self._rows[self._main].state == JobNodeState.STARTING:
            self._decide(outcome.grant_undone(row.node_name, lost.reason))
        self._order_stop([part])  # should it come back
        if part.number in self._parts:
            target = JobNodeState.LOST
            if row.state == JobNodeState.SUBMITTED:
                target = JobNodeState.FAILED
            self._end(part, target, f"lost: {lost.reason}")

    def _judge_lost_main(self, row: JobNode, why: str) -> GangDecision:
        """The exit file of its guard may tell that it had ended by itself."""
        if row.state == JobNodeState.STARTING:
            return outcome.grant_undone(row.node_name, why)
        found = read_exit(self.folder, row.index, row.attempt)
        if found is None or found.is_stopped:
            return outcome.main_lost(row.node_name, why)
        return self._main_ended(found.exit_code, found.signal, "")

    def _look_for_cancel(self) -> None:
        row = Job.objects.filter(pk=self.job.pk).values_list(
            "cancel_requested_at", "cancel_requested_by", "cancel_reason"
        )
        at, by, note = row.get()
        if at is not None:
            self._decide(outcome.cancelled(by or "somebody", note or ""))

    def _look_at_clocks(self, now: float) -> None:
        if self._decision is None:
            self._look_at_timeouts()
            return
        if self._every["order"].is_due(now):
            self._order_stop(list(self._parts.values()))
        if now >= self._leave_by:
            for part in list(self._parts.values()):
                logger.warning("job %d: node %s did not end in time", self.job.pk, part.name)
                self._end(part, JobNodeState.LOST, "its processes did not end in time")

    def _look_at_timeouts(self) -> None:
        timeout = self.job.spec.get("timeout")
        row = self._rows[self._main]
        if timeout and row.started_at is not None:
            if time.time() - row.started_at.timestamp() >= float(timeout):
                self._decide(outcome.timed_out(float(timeout)))
        elif row.started_at is None:
            waited = time.time() - row.granted_at.timestamp()
            if waited >= STARTING_SECONDS:
                self._decide(outcome.could_not_start(outcome.STARTING_TIMEOUT))

    # -- the end -----------------------------------------------------------------

    def _decide(self, decision: GangDecision) -> None:
        """Fix the outcome; what comes later changes nothing."""
        if self._decision is not None:
            return
        gang.keep_decision(self.job, decision, owner=self.owner)
        self._decision = decision
        logger.info("job %d attempt %d: %s", self.job.pk, self.job.attempt, decision.reason)
        self._obey_decision()

    def _obey_decision(self) -> None:
        self._leave_by = time.monotonic() + self._grace_seconds + LEAVING_SECONDS
        for part in list(self._parts.values()):
            if part.job_node.state == JobNodeState.SUBMITTED:
                self._end(part, JobNodeState.FAILED, outcome.MAIN_EXITED_FIRST)
        self._order_stop(list(self._parts.values()))

    @property
    def _grace_seconds(self) -> float:
        grace = self.job.spec.get("stop_grace_seconds")
        return DEFAULT_GRACE_SECONDS if grace is None else float(grace)

    def _order_stop(self, parts: list[Part]) -> None:
        """A node that has not begun refuses, one that comes late reads the order."""
        reason = self._decision.reason if self._decision else "stopped"
        order = Order("stop", self._grace_seconds, reason).to_json()
        pipeline = self._client.pipeline(transaction=False)
        for part in parts:
            key = self._keys.control(part.number)
            pipeline.rpush(key, order)
            pipeline.expire(key, ORDERS_EXPIRE_SECONDS)
            if not part.has_joined and part.job_node.state == JobNodeState.STARTING:
                pipeline.sadd(self._keys.revoked, part.number)
        try:
            pipeline.execute()
        except redis.RedisError as error:
            logger.warning("job %d: stop not told yet: %s", self.job.pk, error)

    def _settle(self, decision: GangDecision) -> None:
        self.job.refresh_from_db()
        exit_code = self._rows[self._main].exit_code if self._rows else None
        is_retried = outcome.is_retried(
            decision,
            self.job.spec.get("retry") or {},
            attempt=self.job.attempt,
            attempt_limit=self.job.attempt_limit,
        )
        if is_retried and self.job.cancel_requested_at is None:
            gang.retry_gang(self.job, decision, owner=self.owner, exit_code=exit_code)
        else:
            write_result(self.folder, self.job, decision, list(self._rows.values()))
            facts = self._facts(exit_code)
            gang.end_gang(self.job, decision, owner=self.owner, facts=facts)
            self._forget_keys()
        self._kinds |= {"state", "nodes", "log"}
        self._publish()

    def _facts(self, exit_code: int | None) -> dict[str, Any]:
        started_at = self.job.running_at
        return {
            "exit_code": exit_code,
            "main_node": self._main,
            "children": max(0, len(self._rows) - 1),
            "failed_children": sum(1 for _ in self._failed_children()),
            "seconds": time.time() - started_at.timestamp() if started_at else None,
        }

    def _failed_children(self) -> Iterator[JobNode]:
        for row in self._rows.values():
            if not self._is_main(row) and row.exit_code not in (None, 0, 143):
                yield row

    def _forget_keys(self) -> None:
        try:
            self._client.delete(self._keys.reports, self._keys.wake)
            self._client.expire(self._keys.revoked, ORDERS_EXPIRE_SECONDS)
        except redis.RedisError as error:
            logger.info("job %d: keys not removed: %s", self.job.pk, error)

    # -- small -------------------------------------------------------------------

    def _is_main(self, row: JobNode) -> bool:
        return row.index == self._main

    def _publish(self) -> None:
        if self._kinds:
            self._events.publish(self.job.job_id, *sorted(self._kinds))
            self._kinds.clear()


def _end_in_words(report: CommandEnded, *, is_stopped_with_main: bool) -> str:
    if report.exit_code is None:
        return report.reason or outcome.NOT_STARTED
    code = f"exit code {report.exit_code}"
    if report.stopped and is_stopped_with_main:
        return f"{outcome.STOPPED_WITH_MAIN}, {code}"
    return f"{outcome.EXITED}, {code}" + (f": {report.reason}" if report.reason else "")
