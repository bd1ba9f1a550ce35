"""One node's part in a ParallelRunStep job: one loop that watches everything.

The loop reads the processes' frames, hands out leases, looks at the clocks,
buries the dead and starts their replacements. It waits on pipes only: what may
hang (Redis, orders, samples) lives in threads that ring the wake pipe.
"""

from __future__ import annotations

import logging
import selectors
import time

from runner.core.leases import Lease
from runner.core.messages import (
    AssignmentEnded,
    NodeJoined,
    Order,
    ProcessStarted,
    SamplesTaken,
)
from runner.core.wire_format import wire
from runner.node.burials import Burials
from runner.node.clocks import Expiry, find_expiry, seconds_until_due
from runner.node.exchanger import Exchanger
from runner.node.frame_desk import FrameDesk
from runner.node.frames import BrokenFrame
from runner.node.held_leases import HeldLease, settle_rest
from runner.node.leftovers import Leftovers
from runner.node.orders import OrderListener
from runner.node.step_part import LEAVE_SECONDS, StepPart
from runner.node.this_node import ThisNode
from runner.node.wake_pipe import WakePipe
from runner.node.worker_process import STACKS_SECONDS, CannotStartProcess, WorkerProcess

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.2  # the longest sleep: a signal handler only sets an event
HAND_OVER_SECONDS = 30.0  # for the last reports; they stand in the journal too
STOPPED_HAND_OVER_SECONDS = 2.0  # the same when the node itself is stopped
NODE_STOP_GRACE_SECONDS = 5.0
STUCK_SECONDS = 30.0  # in one phase: its stacks are written before it is stopped


class StepAgent:
    """Made for one assignment; ``run`` returns when nothing of it is left."""

    def __init__(
        self,
        node: ThisNode,
        part: StepPart,
        exchanger: Exchanger,
        orders: OrderListener,
        wake: WakePipe,
    ) -> None:
        self._node = node
        self._part = part
        self._crew = part.crew
        self._supply = part.supply
        self._exchanger = exchanger
        self._orders = orders
        self._wake = wake
        self._desk = FrameDesk(part)
        self._burials = Burials(part)
        self._selector = selectors.DefaultSelector()
        self._clocks_at = 0.0  # monotonic; when the limits are looked at again

    # -- the loop ----------------------------------------------------------------

    def run(self, leftovers: Leftovers) -> None:
        self._selector.register(self._wake.read_end, selectors.EVENT_READ, self._on_wake)
        self._part.report(NodeJoined, process_count=self._part.assignment.process_count)
        try:
            self._start_due_processes()
            self._part.monitor.start()
            while self._crew or not self._part.is_ending:
                self._turn()
            self._part.monitor.close()
            leftovers.end()
            self._hand_over_last_reports()
        finally:
            self._kill_everything()
            self._selector.close()

    def _turn(self) -> None:
        self._start_due_processes()
        now = time.monotonic()
        self._supply.exchange_if_due(self._crew, now=now)
        for key, _ in self._selector.select(self._sleep_seconds(now)):
            key.data()
        now = time.monotonic()
        self._look_at_clocks(now)
        self._publish_live(now)
        if self._node.stop.is_set() and not self._part.stop_reason:
            self._part.stop("node", grace_seconds=NODE_STOP_GRACE_SECONDS)
        if self._supply.is_journal_broken:
            reason = "the journal cannot be written"
            self._part.give_up(reason, cause="output_not_writable")

    def _sleep_seconds(self, now: float) -> float:
        waits = [LOOK_SECONDS, self._supply.seconds_until_due(self._crew, now=now)]
        waits.append(self._clocks_at - now)
        waits += [one.kill_at - now for one in self._crew if one.kill_at is not None]
        start_at = self._crew.next_start_at()
        if start_at is not None:
            waits.append(start_at - now)
        return max(0.0, min(waits))

    def _on_wake(self) -> None:
        self._wake.drain()
        now = time.monotonic()
        for lease in self._supply.take_answers(self._crew, now=now):
            self._hand_out(lease, now=now)
        if self._supply.closed:
            self._obey_closing()
        while not self._orders.orders.empty():
            self._obey(self._orders.orders.get())
        samples = self._part.monitor.samples
        while not samples.empty():
            self._part.report(SamplesTaken, rows=samples.get())
            self._part.note_peaks()

    def _publish_live(self, now: float) -> None:
        value = self._part.live.due_value(self._crew, self._part.monitor.rss_bytes, now=now)
        if value is not None and not self._exchanger.is_away:
            self._exchanger.publish_live(value)

    # -- processes ---------------------------------------------------------------

    def _start_due_processes(self) -> None:
        try:
            for process in self._crew.start_due(time.monotonic()):
                self._greet(process)
        except CannotStartProcess as error:
            self._part.give_up(str(error), cause="environment_failed")
        except OSError as error:
            reason = f"a worker process could not start: {error}"
            self._part.give_up(reason, cause="output_not_writable")

    def _greet(self, process: WorkerProcess) -> None:
        read, dead = (lambda: self._read(process)), (lambda: self._on_end(process))
        self._selector.register(process.report, selectors.EVENT_READ, read)
        self._selector.register(process.pidfd, selectors.EVENT_READ, dead)
        self._part.live.note_start()
        self._part.report(
            ProcessStarted,
            process=process.number,
            pid=process.pid,
            segment=process.segment.name,
            gpu=process.gpu,
        )
        self._part.watch_crew()

    def _read(self, process: WorkerProcess) -> None:
        if process.is_closed:
            return
        try:
            self._desk.read(process)
        except EOFError:
            # Its end is told by the pidfd; a closed pipe alone would spin.
            self._selector.unregister(process.report)
            process.kill_within(LEAVE_SECONDS, now=time.monotonic())
        except BrokenFrame as broken:
            logger.error("%s: %s; it is killed", process, broken)
            self._selector.unregister(process.report)
            process.kill()

    def _on_end(self, process: WorkerProcess) -> None:
        process_exit = None if process.is_closed else process.poll()
        if process_exit is None:
            return
        if process.report in self._selector.get_map():
            self._desk.read_to_the_end(process)
            self._selector.unregister(process.report)
        self._selector.unregister(process.pidfd)
        self._burials.bury(process, process_exit)

    def _hand_out(self, lease: Lease, *, now: float) -> None:
        held = HeldLease(lease.lease_id, lease.lease_id, lease.range, granted_at=now)
        process = self._crew.find(lease.process)
        if process is None or process.is_asked_to_end or process.expiry is not None:
            self._supply.settle(settle_rest(held), now=now)
            return
        if not process.held:
            process.last_done_at = now
        process.give(held)

    # -- clocks ------------------------------------------------------------------

    def _look_at_clocks(self, now: float) -> None:
        for process in list(self._crew):
            if process.kill_at is not None and now >= process.kill_at:
                process.kill()
        if now >= self._clocks_at:
            self._clocks_at = now + self._look_at_limits(now)

    def _look_at_limits(self, now: float) -> float:
        """Return after how many seconds to look again: nothing runs out before."""
        limits, now_ns = self._part.limits, int(now * 1e9)
        wait = limits.shortest_seconds
        for process in self._crew:
            if process.kill_at is not None or process.expiry or process.is_killed:
                continue
            words = process.words()
            expiry = find_expiry(words, limits, now_ns=now_ns)
            if expiry is not None:
                self._expire(process, expiry, now)
            else:
                wait = min(wait, seconds_until_due(words, limits, now_ns=now_ns))
        return wait

    def _expire(self, process: WorkerProcess, expiry: Expiry, now: float) -> None:
        process.expiry = expiry
        logger.warning("%s: %s", process, expiry)
        process.ask_for_stacks()
        process.kill_within(STACKS_SECONDS, now=now)

    # -- orders and the end --------------------------------------------------------

    def _obey(self, order: Order) -> None:
        match order.action:
            case "wake":
                self._supply.ring()
            case "end":
                self._part.end(order.reason or "all mini-batches were processed")
            case "stop":
                self._write_stacks_of_stuck()
                self._part.stop("order", grace_seconds=order.grace_seconds, reason=order.reason)
            case _:
                logger.warning("unknown order %r dropped", order.action)

    def _obey_closing(self) -> None:
        """The queue itself says that the job, or this assignment, is over."""
        if self._supply.closed == "end":
            self._part.end("all mini-batches were processed")
        elif not self._part.stop_reason:
            is_lost = self._supply.closed == "revoked"
            grace = 0.0 if is_lost else NODE_STOP_GRACE_SECONDS
            self._part.stop("lost" if is_lost else "order", grace_seconds=grace)

    def _write_stacks_of_stuck(self) -> None:
        """What a process hangs in says why a job did not get on."""
        now_ns, is_any = time.monotonic_ns(), False
        for process in self._crew:
            words = process.words()
            is_busy = words.phase not in (wire.PHASE_STARTING, wire.PHASE_IDLE)
            if is_busy and now_ns - words.since_ns >= STUCK_SECONDS * 1e9:
                process.ask_for_stacks()
                is_any = True
        if is_any:
            time.sleep(STACKS_SECONDS)

    def _hand_over_last_reports(self) -> None:
        self._part.report(AssignmentEnded, reason=self._part.end_reason)
        is_short = self._part.stop_reason in ("node", "lost")
        seconds = STOPPED_HAND_OVER_SECONDS if is_short else HAND_OVER_SECONDS
        deadline = time.monotonic() + seconds
        while not self._supply.is_idle and time.monotonic() < deadline:
            now = time.monotonic()
            self._supply.exchange_if_due(self._crew, now=now)
            wait = min(LOOK_SECONDS, self._supply.seconds_until_due(self._crew, now=now))
            for key, _ in self._selector.select(wait):
                key.data()
        if not self._supply.is_idle:
            logger.warning("the last reports could not be sent; they stand in the journal")

    def _kill_everything(self) -> None:
        for process in list(self._crew):
            process.kill()
            process.close()
