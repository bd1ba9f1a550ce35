"""One node's part in a ParallelRunStep job: one loop that watches everything.

The loop reads the processes' frames, hands out leases, looks at the clocks,
buries the dead and starts their replacements. It waits on pipes only: what may
hang (Redis, orders, samples) lives in threads that ring the wake pipe.
"""

from __future__ import annotations

import json
import logging
import selectors
import time
from typing import Any

from runner.core.leases import Lease
from runner.core.messages import (
    AssignmentEnded,
    InitFailed,
    MetricLogged,
    NodeJoined,
    NodeRefused,
    Order,
    ProcessEnded,
    ProcessReady,
    ProcessStarted,
    Report,
    SamplesTaken,
    WarningRaised,
)
from runner.core.wire_format import wire
from runner.node.clocks import Expiry, Limits, find_expiry, seconds_until_due
from runner.node.crew import Crew
from runner.node.deaths import Death, judge_death
from runner.node.exchanger import Exchanger
from runner.node.failed_tries import Place, pack_failed_try, read_item_count
from runner.node.frames import BrokenFrame, Frame, read_block_head
from runner.node.gpu_slots import GpuSlots
from runner.node.held_leases import HeldLease, settle_death, settle_rest
from runner.node.leftovers import Leftovers
from runner.node.live_view import LiveView
from runner.node.memory_kills import count_memory_kills
from runner.node.orders import OrderListener
from runner.node.process_tree import kill_marked
from runner.node.resource_monitor import ResourceMonitor
from runner.node.supply import Supply
from runner.node.this_node import ThisNode
from runner.node.wake_pipe import WakePipe
from runner.node.worker_process import (
    STACKS_SECONDS,
    CannotStartProcess,
    Launch,
    WorkerProcess,
)

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.2  # the longest sleep: a signal handler only sets an event
LEAVE_SECONDS = 2.0  # between the end of shutdown() and the process's own
HAND_OVER_SECONDS = 30.0  # for the last reports; they stand in the journal too
STOPPED_HAND_OVER_SECONDS = 2.0  # the same when the node itself is stopped
NODE_STOP_GRACE_SECONDS = 5.0
# Reasons of a stop at which the stacks tell what the processes hang in.
STUCK_REASONS = ("init_stuck", "no_progress")


class StepAgent:
    """Made for one assignment; ``run`` returns when nothing of it is left."""

    def __init__(
        self,
        node: ThisNode,
        launch: Launch,
        gpus: GpuSlots,
        supply: Supply,
        exchanger: Exchanger,
        orders: OrderListener,
        monitor: ResourceMonitor,
        wake: WakePipe,
    ) -> None:
        self._node = node
        self._place = launch.place
        self._assignment = launch.place.assignment
        self._limits = Limits(launch.place.spec.run_seconds, launch.place.spec.overhead_seconds)
        self._crew = Crew(launch, gpus)
        self._supply = supply
        self._exchanger = exchanger
        self._orders = orders
        self._monitor = monitor
        self._wake = wake
        self._live = LiveView(self._assignment.node_name, self._assignment.node_index)
        self._selector = selectors.DefaultSelector()
        self._memory_kills = count_memory_kills()
        self._clocks_at = 0.0  # monotonic; when the limits are looked at again
        self._is_ending = False
        self._stop_reason = ""  # "order", "node": why processes were stopped
        self._end_reason = ""

    # -- the loop ----------------------------------------------------------------

    def run(self, leftovers: Leftovers) -> None:
        self._selector.register(self._wake.read_end, selectors.EVENT_READ, self._on_wake)
        self._report(NodeJoined, process_count=self._assignment.process_count)
        try:
            self._start_due_processes()
            self._monitor.start()
            while not self._is_over():
                self._turn()
            self._monitor.close()
            leftovers.end()
            self._hand_over_last_reports()
        finally:
            self._kill_everything()
            self._selector.close()

    def _is_over(self) -> bool:
        return self._is_ending and not self._crew

    def _turn(self) -> None:
        self._start_due_processes()
        now = time.monotonic()
        self._supply.exchange_if_due(self._crew, now=now)
        for key, _ in self._selector.select(self._sleep_seconds(now)):
            key.data()
        now = time.monotonic()
        self._look_at_clocks(now)
        self._publish_live(now)
        if self._node.stop.is_set() and not self._stop_reason:
            self._stop("node", grace_seconds=NODE_STOP_GRACE_SECONDS)
        if self._supply.is_journal_broken and not self._is_ending:
            self._give_up("the journal cannot be written", cause="output_not_writable")

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
        while not self._monitor.samples.empty():
            rows = self._monitor.samples.get()
            self._report(SamplesTaken, rows=rows)
            self._note_peaks()

    # -- starting ----------------------------------------------------------------

    def _start_due_processes(self) -> None:
        try:
            started = self._crew.start_due(time.monotonic())
        except CannotStartProcess as error:
            self._give_up(str(error), cause="environment_failed")
            started = []
        except OSError as error:
            self._give_up(
                f"a worker process could not start: {error}", cause="output_not_writable"
            )
            started = []
        for process in started:
            self._greet(process)

    def _greet(self, process: WorkerProcess) -> None:
        read, dead = (lambda: self._read(process)), (lambda: self._bury(process))
        self._selector.register(process.report, selectors.EVENT_READ, read)
        self._selector.register(process.pidfd, selectors.EVENT_READ, dead)
        self._live.note_start()
        self._report(
            ProcessStarted,
            process=process.number,
            pid=process.pid,
            segment=process.segment.name,
            gpu=process.gpu,
        )
        self._watch_crew()

    # -- frames ------------------------------------------------------------------

    def _read(self, process: WorkerProcess) -> None:
        if process.is_closed:
            return
        try:
            for frame in process.read_frames() or ():
                self._take(process, frame)
        except EOFError:
            # Its end is told by the pidfd; a closed pipe alone would spin.
            self._selector.unregister(process.report)
            process.kill_within(LEAVE_SECONDS, now=time.monotonic())
        except BrokenFrame as broken:
            logger.error("%s: %s; it is killed", process, broken)
            self._selector.unregister(process.report)
            process.kill()

    def _take(self, process: WorkerProcess, frame: Frame) -> None:
        match frame.kind:
            case wire.FRAME_BLOCK:
                self._take_block(process, frame)
            case wire.FRAME_LEASE_DONE:
                self._take_block(process, frame)
                self._end_lease(process, frame.lease_id)
            case _:
                self._take_note(process, frame.kind, _read_json(frame))

    def _take_block(self, process: WorkerProcess, frame: Frame) -> None:
        head = read_block_head(frame.body)
        lease = process.find_held(frame.lease_id)
        if lease is not None:
            lease.reported += head.record_count
        if head.record_count:
            self._supply.report_bytes(frame.body, now=time.monotonic())

    def _end_lease(self, process: WorkerProcess, local_id: int) -> None:
        lease = process.find_held(local_id)
        if lease is None:
            logger.warning("%s ended lease %d, which it does not hold", process, local_id)
            return
        now = time.monotonic()
        begun_at = max(lease.granted_at, process.last_done_at)
        process.pace.note(count=lease.range.count, seconds=now - begun_at)
        process.last_done_at = now
        process.held.remove(lease)
        self._supply.end_lease(lease, now=now)

    def _take_note(self, process: WorkerProcess, kind: int, body: dict[str, Any]) -> None:
        number = process.number
        match kind:
            case wire.FRAME_READY:
                self._note_ready(process, body)
            case wire.FRAME_INIT_FAILED:
                self._note_init_failed(process, body)
            case wire.FRAME_METRIC:
                self._report(
                    MetricLogged,
                    process=number,
                    name=str(body.get("name", "")),
                    value=body.get("value"),
                )
            case wire.FRAME_WARNING:
                self._report(
                    WarningRaised,
                    process=number,
                    code=str(body.get("code", "")),
                    text=str(body.get("text", "")),
                    mini_batch=body.get("mini_batch"),
                )
            case wire.FRAME_ENDED:
                self._note_ended(process, body)

    def _note_ready(self, process: WorkerProcess, body: dict[str, Any]) -> None:
        process.is_ready = True
        process.last_done_at = time.monotonic()
        process.forget_config()
        self._crew.note_ready(process)
        seconds = _seconds(body.get("init_seconds"))
        self._report(ProcessReady, process=process.number, init_seconds=seconds)
        if self._is_ending:
            process.ask_to_end()

    def _note_init_failed(self, process: WorkerProcess, body: dict[str, Any]) -> None:
        is_invalid = bool(body.get("invalid_script"))
        self._count_init_failure(
            process,
            init_seconds=_seconds(body.get("init_seconds")),
            invalid_script=is_invalid,
            error=body.get("error") or {},
        )
        if is_invalid:
            self._crew.is_starting = False

    def _count_init_failure(self, process: WorkerProcess, **facts: Any) -> None:
        process.is_init_failed = True
        self._crew.inits.note_failure()
        self._report(InitFailed, process=process.number, **facts)

    def _note_ended(self, process: WorkerProcess, body: dict[str, Any]) -> None:
        process.is_gone_well = True
        process.kill_within(LEAVE_SECONDS, now=time.monotonic())
        error = body.get("error")
        if error:
            kind = (error.get("types") or [error.get("kind", "error")])[0]
            text = f"shutdown() of {process} failed: {kind}: {error.get('message', '')}"
            self._report(
                WarningRaised, process=process.number, code="shutdown_failed", text=text
            )

    # -- leases ------------------------------------------------------------------

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
        now_ns, wait = int(now * 1e9), self._limits.shortest_seconds
        for process in self._crew:
            if process.kill_at is not None or process.expiry or process.is_killed:
                continue
            words = process.words()
            expiry = find_expiry(words, self._limits, now_ns=now_ns)
            if expiry is not None:
                self._expire(process, expiry, now)
            else:
                wait = min(wait, seconds_until_due(words, self._limits, now_ns=now_ns))
        return wait

    def _expire(self, process: WorkerProcess, expiry: Expiry, now: float) -> None:
        process.expiry = expiry
        logger.warning("%s: %s", process, expiry)
        process.ask_for_stacks()
        process.kill_within(STACKS_SECONDS, now=now)

    # -- deaths ------------------------------------------------------------------

    def _bury(self, process: WorkerProcess) -> None:
        process_exit = None if process.is_closed else process.poll()
        if process_exit is None:
            return
        self._read_to_the_end(process)
        now = time.monotonic()
        kills_before, self._memory_kills = self._memory_kills, count_memory_kills()
        death = judge_death(
            process,
            process_exit,
            stop_reason=self._stop_reason,
            memory_kills=(kills_before, self._memory_kills),
            memory_percent=self._monitor.memory_percent,
        )
        self._settle(process, death, now)
        if death.is_init_failure and not process.is_init_failed:
            words = process.words()
            self._count_init_failure(
                process,
                init_seconds=now - process.started_at,
                error=death.describe_init_error(words),
            )
        self._forget(process, death, now)
        self._judge_crew(death)

    def _read_to_the_end(self, process: WorkerProcess) -> None:
        if process.report not in self._selector.get_map():
            return
        try:
            while (frames := process.read_frames()) is not None:
                for frame in frames:
                    self._take(process, frame)
        except (EOFError, BrokenFrame):
            pass
        self._selector.unregister(process.report)

    def _settle(self, process: WorkerProcess, death: Death, now: float) -> None:
        words = process.words()
        settlement = settle_death(process.held, words, is_try_counted=death.failure is not None)
        process.held = []
        if settlement.started is not None and death.failure is not None:
            place = Place(self._assignment.number, self._assignment.node_index, process.number)
            items = read_item_count(self._place.folder.manifest_index, words.mini_batch)
            block = pack_failed_try(
                place,
                words,
                death.failure,
                items=items,
                now=time.time(),
                now_ns=time.monotonic_ns(),
            )
            self._supply.report_bytes(block, now=now)
        self._supply.settle(settlement, now=now)

    def _forget(self, process: WorkerProcess, death: Death, now: float) -> None:
        done = process.words().done
        self._selector.unregister(process.pidfd)
        if not death.is_expected:
            self._live.note_death(process)
            self._kill_stragglers(process)
        self._crew.remove(
            process, now=now, got_anywhere=process.is_ready and (done > 0 or death.is_expected)
        )
        process.close()
        self._watch_crew()
        self._report(
            ProcessEnded,
            process=process.number,
            end=death.words,
            exit_code=death.process_exit.exit_code,
            signal=death.process_exit.signal_number,
            expected=death.is_expected,
            peak_rss_bytes=process.peak_rss_bytes,
        )

    def _kill_stragglers(self, process: WorkerProcess) -> None:
        """What left its group; at the end of the assignment all are looked for."""
        kill_marked(
            {
                "PRSWEB_JOB_ID": self._assignment.job_id,
                "PRSWEB_NODE_NAME": self._assignment.node_name,
                "PRSWEB_PROCESS": str(process),
            }
        )

    def _judge_crew(self, death: Death) -> None:
        if self._is_ending:
            return
        if death.cannot_write:
            self._give_up("a segment cannot be written", cause="output_not_writable")
        elif self._crew.inits.is_given_up:
            self._give_up(
                f"init() failed {self._crew.inits.failures} times on this node, never well",
                cause="init_failed",
            )

    # -- ends --------------------------------------------------------------------

    def _obey(self, order: Order) -> None:
        match order.action:
            case "wake":
                self._supply.ring()
            case "end":
                self._end(order.reason or "all mini-batches were processed")
            case "stop":
                self._end_reason = order.reason
                if order.reason.startswith(STUCK_REASONS):
                    self._write_stacks()
                self._stop("order", grace_seconds=order.grace_seconds)
            case _:
                logger.warning("unknown order %r dropped", order.action)

    def _obey_closing(self) -> None:
        if self._supply.closed == "end":
            self._end("all mini-batches were processed")
        elif not self._stop_reason:
            reason = "lost" if self._supply.closed == "revoked" else "order"
            grace = 0.0 if reason == "lost" else NODE_STOP_GRACE_SECONDS
            self._stop(reason, grace_seconds=grace)

    def _end(self, reason: str) -> None:
        """Let the processes run shutdown() and leave."""
        if self._is_ending:
            return
        self._is_ending = True
        self._end_reason = reason
        self._crew.is_starting = False
        self._monitor.finish()
        now = time.monotonic()
        for process in self._crew:
            if process.is_ready:
                process.ask_to_end()
                process.kill_within(
                    self._limits.run_seconds + self._limits.overhead_seconds, now=now
                )
            else:
                process.stop(grace_seconds=LEAVE_SECONDS, now=now)

    def _stop(self, reason: str, *, grace_seconds: float) -> None:
        """SIGTERM to all, SIGKILL to what is left after the grace."""
        self._is_ending = True
        self._stop_reason = self._stop_reason or reason
        self._end_reason = self._end_reason or f"stopped by the {reason}"
        self._crew.is_starting = False
        self._monitor.finish()
        now = time.monotonic()
        for process in self._crew:
            process.stop(grace_seconds=grace_seconds, now=now)

    def _give_up(self, reason: str, *, cause: str) -> None:
        """Leave the job: nothing is started any more, what runs is stopped."""
        if self._is_ending:
            return
        logger.error("job %s given up: %s", self._assignment.job_id, reason)
        self._report(NodeRefused, reason=reason, cause=cause)
        self._end_reason = reason
        self._end(reason)

    def _write_stacks(self) -> None:
        for process in self._crew:
            process.ask_for_stacks()
        time.sleep(STACKS_SECONDS)

    def _hand_over_last_reports(self) -> None:
        self._report(AssignmentEnded, reason=self._end_reason)
        is_short = self._stop_reason in ("node", "lost")
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

    # -- small -------------------------------------------------------------------

    def _report(self, kind: type[Report], **facts: Any) -> None:
        numbers = self._assignment.number, self._assignment.node_index
        self._supply.report(kind(*numbers, time.time(), **facts), now=time.monotonic())

    def _publish_live(self, now: float) -> None:
        value = self._live.due_value(self._crew, self._monitor.rss_bytes, now=now)
        if value is not None and not self._exchanger.is_away:
            self._exchanger.publish_live(value)

    def _watch_crew(self) -> None:
        self._monitor.watch(
            {one.number: one.pid for one in self._crew},
            {one.number: one.gpu for one in self._crew},
        )

    def _note_peaks(self) -> None:
        for process in self._crew:
            rss = self._monitor.rss_bytes.get(process.number)
            if rss is not None:
                process.peak_rss_bytes = max(rss, process.peak_rss_bytes or 0)


def _read_json(frame: Frame) -> dict[str, Any]:
    try:
        body = json.loads(frame.body or b"{}")
    except ValueError:
        raise BrokenFrame(f"frame of kind {frame.kind} without JSON") from None
    if not isinstance(body, dict):
        raise BrokenFrame(f"frame of kind {frame.kind} without an object")
    return body


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
