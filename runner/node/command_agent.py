"""One node's part in a multi-node or plain job: its command, from start to end."""

from __future__ import annotations

import logging
import selectors
import time
from pathlib import Path
from typing import Any, TypeVar

from runner.core.messages import (
    Assignment,
    AssignmentEnded,
    CommandEnded,
    CommandStarted,
    NodeJoined,
    Order,
    Report,
    SamplesTaken,
)
from runner.node.command_guard import GuardReport, read_exit_file
from runner.node.guard_process import GuardProcess
from runner.node.leftovers import Leftovers
from runner.node.orders import OrderListener
from runner.node.plain_reporter import PlainReporter
from runner.node.process_exit import ProcessExit
from runner.node.resource_monitor import ResourceMonitor
from runner.node.this_node import ThisNode
from runner.node.wake_pipe import WakePipe

logger = logging.getLogger(__name__)

ReportT = TypeVar("ReportT", bound=Report)

LOOK_SECONDS = 0.2
GUARD_LEAVES_SECONDS = 5.0
NODE_STOP_GRACE_SECONDS = 5.0
NODE_STOPPED = "node stopped"  # the reason in CommandEnded: as if the node were lost


class CommandAgent:
    """Made for one assignment; ``run`` returns when nothing of it is left."""

    def __init__(
        self,
        node: ThisNode,
        assignment: Assignment,
        guard: GuardProcess,
        reporter: PlainReporter,
        orders: OrderListener,
        monitor: ResourceMonitor,
        wake: WakePipe,
        exit_file: Path,
    ) -> None:
        self._node = node
        self._assignment = assignment
        self._guard = guard
        self._reporter = reporter
        self._orders = orders
        self._monitor = monitor
        self._wake = wake
        self._exit_file = exit_file
        self._end: CommandEnded | None = None
        self._is_guard_gone = False
        self._is_told_to_stop = False
        self._stop_reason = ""

    def run(self, leftovers: Leftovers) -> None:
        self._report(NodeJoined, process_count=1)
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake.read_end, selectors.EVENT_READ, self._on_wake)
            selector.register(self._guard.report, selectors.EVENT_READ, self._on_guard)
            while not self._is_guard_gone:
                for key, _ in selector.select(LOOK_SECONDS):
                    key.data()
                if self._node.stop.is_set():
                    self._stop(NODE_STOP_GRACE_SECONDS, NODE_STOPPED)
        guard_exit = self._guard.wait(GUARD_LEAVES_SECONDS)
        self._monitor.close()
        leftovers.end()
        self._reporter.send(self._end or self._end_without_guard(guard_exit))
        self._report(AssignmentEnded, reason=self._stop_reason or "its command has ended")

    # -- what comes --------------------------------------------------------------

    def _on_wake(self) -> None:
        self._wake.drain()
        while not self._orders.orders.empty():
            self._obey(self._orders.orders.get())
        while not self._monitor.samples.empty():
            self._report(SamplesTaken, rows=self._monitor.samples.get())

    def _obey(self, order: Order) -> None:
        if order.action == "stop":
            self._stop(order.grace_seconds, order.reason)

    def _on_guard(self) -> None:
        try:
            for report in self._guard.read_reports():
                self._take(report)
        except EOFError:
            self._is_guard_gone = True

    def _take(self, report: GuardReport) -> None:
        match report.event:
            case "started":
                self._monitor.watch({0: report.pid}, {})
                self._report(CommandStarted, at=report.at, pid=report.pid)
            case "failed":
                self._end = self._make(CommandEnded, reason=report.reason)
            case "ended":
                self._end = self._describe_end(
                    report.return_code, report.at, report.reason, report.is_stopped
                )

    def _stop(self, grace_seconds: float, reason: str) -> None:
        """Once: a repeated order changes nothing."""
        if self._is_told_to_stop:
            return
        self._is_told_to_stop = True
        self._stop_reason = reason
        self._guard.stop(grace_seconds)

    # -- what is told ------------------------------------------------------------

    def _describe_end(
        self, return_code: int | None, at: float, reason: str, is_stopped: bool
    ) -> CommandEnded:
        if return_code is None:
            return self._make(CommandEnded, reason=reason or "its end is not known")
        process_exit = ProcessExit.from_return_code(return_code)
        if is_stopped and self._stop_reason == NODE_STOPPED:
            reason = NODE_STOPPED
        return self._make(
            CommandEnded,
            at=at,
            exit_code=process_exit.shell_code,
            signal=process_exit.signal_number,
            reason=reason,
            stopped=is_stopped,
        )

    def _end_without_guard(self, guard_exit: ProcessExit) -> CommandEnded:
        """The guard was killed: its exit file may still tell the command's end,
        else the command was killed with it."""
        logger.error(
            "the guard of assignment %d ended: %s", self._assignment.number, guard_exit
        )
        end = read_exit_file(self._exit_file)
        if end is not None:
            return self._describe_end(
                int(end["return_code"]), float(end["at"]), "", bool(end["is_stopped"])
            )
        killed = ProcessExit(None, 9)
        return self._make(
            CommandEnded,
            exit_code=killed.shell_code,
            signal=9,
            reason=f"killed with its guard process, which ended: {guard_exit}",
        )

    def _report(self, kind: type[Report], *, at: float | None = None, **facts: Any) -> None:
        self._reporter.send(self._make(kind, at=at, **facts))

    def _make(self, kind: type[ReportT], *, at: float | None = None, **facts: Any) -> ReportT:
        numbers = self._assignment.number, self._assignment.node_index
        return kind(*numbers, time.time() if at is None else at, **facts)
