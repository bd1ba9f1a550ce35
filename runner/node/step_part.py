"""What the pieces of a node's part in a ParallelRunStep job share."""

from __future__ import annotations

import time
from typing import Any

from runner.core.messages import InitFailed, NodeRefused, Report
from runner.node.clocks import Limits
from runner.node.crew import Crew
from runner.node.gpu_slots import GpuSlots
from runner.node.live_view import LiveView
from runner.node.resource_monitor import ResourceMonitor
from runner.node.supply import Supply
from runner.node.worker_process import Launch

LEAVE_SECONDS = 2.0  # between the end of shutdown() and the process's own


class StepPart:
    def __init__(
        self, launch: Launch, gpus: GpuSlots, supply: Supply, monitor: ResourceMonitor
    ) -> None:
        spec = launch.place.spec
        self.place = launch.place
        self.assignment = launch.place.assignment
        self.limits = Limits(spec.run_seconds, spec.overhead_seconds)
        self.crew = Crew(launch, gpus)
        self.supply = supply
        self.monitor = monitor
        self.live = LiveView(self.assignment.node_name, self.assignment.node_index)
        self.is_ending = False  # nothing is started any more
        self.stop_reason = ""  # "order", "node", "lost": why processes were stopped
        self.end_reason = ""  # in words

    def report(self, kind: type[Report], **facts: Any) -> None:
        numbers = self.assignment.number, self.assignment.node_index
        self.supply.report(kind(*numbers, time.time(), **facts), now=time.monotonic())

    def count_init_failure(self, number: int, **facts: Any) -> None:
        self.crew.inits.note_failure()
        self.report(InitFailed, process=number, **facts)

    def end(self, reason: str) -> None:
        """Let the processes run shutdown() and leave; one that is not past init() has
        nothing to shut down."""
        if self.is_ending:
            return
        self._begin_end(reason)
        now = time.monotonic()
        for process in self.crew:
            if process.is_ready:
                process.ask_to_end()
                limit = self.limits.run_seconds + self.limits.overhead_seconds
                process.kill_within(limit, now=now)
            else:
                process.stop(grace_seconds=LEAVE_SECONDS, now=now)

    def stop(self, stop_reason: str, *, grace_seconds: float, reason: str = "") -> None:
        """SIGTERM to all, SIGKILL to what is left after the grace.

        When the job itself is stopped, a process that waits for work just gets no
        more of it: it runs its shutdown() and leaves, within the same grace.
        """
        self._begin_end(self.end_reason or reason or f"stopped by the {stop_reason}")
        self.stop_reason = self.stop_reason or stop_reason
        now = time.monotonic()
        for process in self.crew:
            if stop_reason == "order" and process.is_waiting_for_work:
                process.ask_to_end()
                process.kill_within(grace_seconds, now=now)
            else:
                process.stop(grace_seconds=grace_seconds, now=now)

    def give_up(self, reason: str, *, cause: str) -> None:
        """Leave the job: nothing is started any more, what runs may end its work."""
        if not self.is_ending:
            self.report(NodeRefused, reason=reason, cause=cause)
            self.end(reason)

    def watch_crew(self) -> None:
        """Let the monitor sample the processes that are there now."""
        self.monitor.watch(
            {one.number: one.pid for one in self.crew},
            {one.number: one.gpu for one in self.crew},
        )

    def note_peaks(self) -> None:
        for process in self.crew:
            rss = self.monitor.rss_bytes.get(process.number)
            if rss is not None:
                process.peak_rss_bytes = max(rss, process.peak_rss_bytes or 0)

    def _begin_end(self, reason: str) -> None:
        self.is_ending = True
        self.end_reason = reason
        self.crew.is_starting = False
        self.monitor.finish()
