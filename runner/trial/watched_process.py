"""One worker process, and all that it has said: waits for it, within the job's limits."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable
from typing import Any

from runner.core.blocks import Record, parse_block
from runner.core.leases import Range
from runner.core.wire_format import wire
from runner.node.clocks import Limits, find_expiry
from runner.node.deaths import Death, judge_death
from runner.node.failed_tries import describe_error
from runner.node.frames import BrokenFrame, Frame
from runner.node.harness_config import ProcessIdentity
from runner.node.held_leases import HeldLease
from runner.node.last_words import read_from, read_tail
from runner.node.memory_kills import count_memory_kills
from runner.node.process_exit import ProcessExit
from runner.node.worker_process import STACKS_SECONDS, Launch, WorkerProcess

LOOK_SECONDS = 0.1
LEAVE_SECONDS = 2.0  # between the end of shutdown() and the process's own
EARLY_PHASES = (wire.PHASE_STARTING, wire.PHASE_INIT)


class TrialStopped(Exception):
    """The command that started the trial wants no more of it, or is gone."""


class WatchedProcess:
    """Started when made. Each call that waits ends early when the process dies."""

    def __init__(self, launch: Launch, number: int, *, stop_descriptor: int) -> None:
        """Raises CannotStartProcess. ``stop_descriptor`` can be read, or is closed at its
        other end, when the trial is to stop."""
        spec = launch.place.spec
        self._place = launch.place
        self._limits = Limits(spec.run_seconds, spec.overhead_seconds)
        # As for a job of which every process is inside init().
        self._init_seconds = 3 * spec.run_seconds + 30
        self._memory_kills = count_memory_kills()
        self._stop_descriptor = stop_descriptor
        self._poll = select.poll()
        self.process = WorkerProcess(
            launch, ProcessIdentity(number, "trial", None), device=None
        )
        for descriptor in (stop_descriptor, self.process.report, self.process.pidfd):
            self._poll.register(descriptor, select.POLLIN)
        self.exit: ProcessExit | None = None  # None: it lives
        self.init_error: dict[str, Any] | None = None
        self.init_seconds = 0.0
        self.records: dict[int, Record] = {}  # by mini-batch
        self.errors: dict[int, dict[str, Any]] = {}  # by mini-batch
        self.warnings: list[str] = []
        self._leases_over = 0
        self._has_init_expired = False

    def wait_until_ready(self) -> bool:
        """Return whether import and init() went well."""
        self._wait(lambda: self.process.is_ready)
        return self.process.is_ready

    def run_mini_batch(self, index: int) -> None:
        """Let it run one mini-batch, and wait until it has."""
        lease_id = self._leases_over + 1
        held = HeldLease(lease_id, lease_id, Range(index, 1, 1), granted_at=time.monotonic())
        self.process.give(held)
        self._wait(lambda: self._leases_over >= lease_id)

    def end(self) -> None:
        """Let it call shutdown() and leave."""
        self.process.ask_to_end()
        self._wait(lambda: False)

    def close(self) -> None:
        """End whatever of it is left. Can be repeated."""
        if self.process.is_closed:
            return
        self.process.kill()
        while self.exit is None:
            select.select([self.process.pidfd], [], [])
            self.exit = self.process.poll()
        self.process.close()

    # -- how it died -----------------------------------------------------------------

    def describe_init_death(self) -> dict[str, Any]:
        """Return the error (``wire``, ERROR) of a process that died before it was ready."""
        if self._has_init_expired:
            text = f"import and init() took longer than {self._init_seconds:g} s"
            detail = f"{text} (3 x run_invocation_timeout + 30 s)"
            raw = {"kind": "timeout:init", "types": [], "message": text, "frames": []}
        else:
            raw = self._death().describe_init_error(self.process.words())
            detail = str(raw["traceback"])
        return {**raw, "traceback": self._with_last_words(detail)}

    def describe_death(self) -> dict[str, Any]:
        """Return the error of a process that died in a mini-batch."""
        death = self._death()
        if death.failure is None:
            raw = {"kind": "segment", "types": [], "message": death.words, "frames": []}
            return {**raw, "traceback": self._with_last_words(death.words)}
        detail = self._with_last_words(death.failure.detail)
        return {**describe_error(self.process.words(), death.failure), "traceback": detail}

    def _death(self) -> Death:
        assert self.exit is not None
        return judge_death(
            self.process,
            self.exit,
            stop_reason="",
            memory_kills=(self._memory_kills, count_memory_kills()),
            memory_percent=None,
        )

    def _with_last_words(self, detail: str) -> str:
        """Add the stacks it was asked for, or what the interpreter wrote as it died."""
        number, node = self.process.number, self._place.assignment.node_name
        if self.process.expiry is not None or self._has_init_expired:
            words = read_from(self._place.user_error(number), self.process.stacks_from)
        else:
            words = read_tail(self._place.folder.descriptor_log(node, number, "stderr"))
        return f"{detail}\n\n{words}" if words else detail

    # -- waiting ---------------------------------------------------------------------

    def _wait(self, is_over: Callable[[], bool]) -> None:
        """Raises TrialStopped."""
        while self.exit is None and not is_over():
            ready = {descriptor for descriptor, _ in self._poll.poll(LOOK_SECONDS * 1000)}
            if self._stop_descriptor in ready:
                raise TrialStopped
            if self.process.report in ready:
                self._read()
            if self.process.pidfd in ready:
                self._note_end()
            self._look_at_clocks(time.monotonic())

    def _read(self) -> None:
        try:
            for frame in self.process.read_frames() or ():
                self._take(frame)
        except EOFError:
            self._poll.unregister(self.process.report)  # its end is told by the pidfd
            self.process.kill_within(LEAVE_SECONDS, now=time.monotonic())
        except BrokenFrame:
            self._poll.unregister(self.process.report)
            self.process.kill()

    def _note_end(self) -> None:
        self.exit = self.process.poll()
        try:
            while (frames := self.process.read_frames()) is not None:
                for frame in frames:
                    self._take(frame)
        except (EOFError, BrokenFrame):
            return

    def _look_at_clocks(self, now: float) -> None:
        process = self.process
        if self.exit is not None:
            return
        if process.kill_at is not None:
            if now >= process.kill_at:
                process.kill()
            return
        words = process.words()
        process.expiry = find_expiry(words, self._limits, now_ns=int(now * 1e9))
        is_early = not process.is_ready and words.phase in EARLY_PHASES
        self._has_init_expired = is_early and now - process.started_at > self._init_seconds
        if process.expiry is not None or self._has_init_expired:
            process.ask_for_stacks()
            process.kill_within(STACKS_SECONDS, now=now)

    # -- frames ----------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        match frame.kind:
            case wire.FRAME_BLOCK:
                self._take_block(frame.body)
            case wire.FRAME_LEASE_DONE:
                self._take_block(frame.body)
                self._end_lease(frame.lease_id)
            case _:
                self._take_note(frame.kind, json.loads(frame.body or b"{}"))

    def _take_block(self, body: bytes) -> None:
        block = parse_block(body)
        self.records.update({record[0]: record for record in block.records()})
        for error in json.loads(block.errors_part or b"[]"):
            self.errors[error["index"]] = error

    def _end_lease(self, lease_id: int) -> None:
        self._leases_over += 1
        lease = self.process.find_held(lease_id)
        if lease is not None:
            self.process.held.remove(lease)

    def _take_note(self, kind: int, body: dict[str, Any]) -> None:
        match kind:
            case wire.FRAME_READY:
                self.process.is_ready = True
                self.process.forget_config()
                self.init_seconds = float(body["init_seconds"])
            case wire.FRAME_INIT_FAILED:
                self.process.is_init_failed = True
                self.init_error = body["error"]
                self.init_seconds = float(body["init_seconds"])
            case wire.FRAME_WARNING:
                self.warnings.append(str(body.get("text", "")))
            case wire.FRAME_ENDED:
                self.process.is_gone_well = True
                self.process.kill_within(LEAVE_SECONDS, now=time.monotonic())
                if body.get("error"):
                    self.warnings.append(_shutdown_failed(body["error"]))


def _shutdown_failed(error: dict[str, Any]) -> str:
    kind = (error.get("types") or [error.get("kind", "error")])[0]
    return f"shutdown() failed: {kind}: {error.get('message', '')}"
