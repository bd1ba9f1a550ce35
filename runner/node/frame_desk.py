"""What the frames of worker processes mean: records, ended leases, notes."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from runner.core.messages import MetricLogged, ProcessReady, WarningRaised
from runner.core.wire_format import wire
from runner.node.frames import BrokenFrame, Frame, read_block_head
from runner.node.step_part import LEAVE_SECONDS, StepPart
from runner.node.worker_process import WorkerProcess

logger = logging.getLogger(__name__)


class FrameDesk:
    def __init__(self, part: StepPart) -> None:
        self._part = part

    def read(self, process: WorkerProcess) -> None:
        """Take the frames that are whole by now.

        Raises BrokenFrame, and EOFError once the pipe is closed and read.
        """
        for frame in process.read_frames() or ():
            self._take(process, frame)

    def read_to_the_end(self, process: WorkerProcess) -> None:
        """Take what a dead process has left in its pipe."""
        try:
            while (frames := process.read_frames()) is not None:
                for frame in frames:
                    self._take(process, frame)
        except (EOFError, BrokenFrame):
            return

    def _take(self, process: WorkerProcess, frame: Frame) -> None:
        match frame.kind:
            case wire.FRAME_BLOCK:
                self._take_block(process, frame)
            case wire.FRAME_LEASE_DONE:
                self._take_block(process, frame)
                self._end_lease(process, frame.lease_id)
            case _:
                self._take_note(process, frame.kind, _read_json(frame))

    # -- mini-batches --------------------------------------------------------------

    def _take_block(self, process: WorkerProcess, frame: Frame) -> None:
        head = read_block_head(frame.body)
        lease = process.find_held(frame.lease_id)
        if lease is not None:
            lease.reported += head.record_count
        if head.record_count:
            self._part.supply.report_bytes(frame.body, now=time.monotonic())

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
        self._part.supply.end_lease(lease, now=now)

    # -- notes ---------------------------------------------------------------------

    def _take_note(self, process: WorkerProcess, kind: int, body: dict[str, Any]) -> None:
        match kind:
            case wire.FRAME_READY:
                self._note_ready(process, body)
            case wire.FRAME_INIT_FAILED:
                self._note_init_failed(process, body)
            case wire.FRAME_METRIC:
                name = str(body.get("name", ""))
                value = body.get("value")
                self._part.report(MetricLogged, process=process.number, name=name, value=value)
            case wire.FRAME_WARNING:
                self._part.report(
                    WarningRaised,
                    process=process.number,
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
        self._part.crew.note_ready(process)
        seconds = _seconds(body.get("init_seconds"))
        self._part.report(ProcessReady, process=process.number, init_seconds=seconds)
        if self._part.is_ending:
            process.ask_to_end()

    def _note_init_failed(self, process: WorkerProcess, body: dict[str, Any]) -> None:
        process.is_init_failed = True
        is_invalid = bool(body.get("invalid_script"))
        self._part.count_init_failure(
            process.number,
            init_seconds=_seconds(body.get("init_seconds")),
            invalid_script=is_invalid,
            error=body.get("error") or {},
        )
        if is_invalid:
            self._part.crew.is_starting = False

    def _note_ended(self, process: WorkerProcess, body: dict[str, Any]) -> None:
        process.is_gone_well = True
        process.kill_within(LEAVE_SECONDS, now=time.monotonic())
        error = body.get("error")
        if error:
            kind = (error.get("types") or [error.get("kind", "error")])[0]
            text = f"shutdown() of {process} failed: {kind}: {error.get('message', '')}"
            self._part.report(
                WarningRaised, process=process.number, code="shutdown_failed", text=text
            )


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
