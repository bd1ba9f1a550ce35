"""The worker processes of one node in one job: slots, numbers, replacements."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from runner.core.init_rules import NodeInits
from runner.node.gpu_slots import GpuSlots
from runner.node.harness_config import ProcessIdentity
from runner.node.worker_process import Launch, WorkerProcess

logger = logging.getLogger(__name__)

FIRST_BACK_OFF_SECONDS = 0.5
LONGEST_BACK_OFF_SECONDS = 10.0


@dataclass
class Slot:
    """A place for one process at a time."""

    index: int
    process: WorkerProcess | None = None
    start_at: float = 0.0  # monotonic; not before
    failures: int = 0  # in a row, without a process that got anywhere


class Crew:
    def __init__(self, launch: Launch, gpus: GpuSlots) -> None:
        assignment = launch.place.assignment
        self._launch = launch
        self._gpus = gpus
        self._next_number = assignment.first_process
        self.slots = [Slot(index) for index in range(assignment.process_count)]
        self.inits = NodeInits(assignment.process_count)
        self.is_starting = True  # ended and missing processes are replaced

    def __iter__(self) -> Iterator[WorkerProcess]:
        return (slot.process for slot in self.slots if slot.process is not None)

    def __bool__(self) -> bool:
        return any(slot.process is not None for slot in self.slots)

    def find(self, number: int) -> WorkerProcess | None:
        return next((process for process in self if process.number == number), None)

    def start_due(self, now: float) -> Iterator[WorkerProcess]:
        """Start a process in each empty slot whose time has come; yield each as soon
        as it is started. Raises CannotStartProcess and OSError."""
        for slot in self.slots:
            if self.is_starting and slot.process is None and slot.start_at <= now:
                slot.process = self._start()
                yield slot.process

    def next_start_at(self) -> float | None:
        """Return when the next replacement is due, or None."""
        if not self.is_starting:
            return None
        return min((slot.start_at for slot in self.slots if slot.process is None), default=None)

    def note_ready(self, process: WorkerProcess) -> None:
        self.inits.note_success()
        self._slot_of(process).failures = 0

    def remove(self, process: WorkerProcess, *, now: float, got_anywhere: bool) -> None:
        """Free the slot and the GPU of an ended process.

        One that got nowhere is replaced after a while, longer each time; any
        other at once.
        """
        slot = self._slot_of(process)
        slot.process = None
        slot.failures = 0 if got_anywhere else slot.failures + 1
        slot.start_at = now + back_off_seconds(slot.failures)
        self._gpus.release(process.number)

    def _start(self) -> WorkerProcess:
        number = self._next_number
        self._next_number += 1
        gpu = self._gpus.take(number)
        identity = ProcessIdentity(number, secrets.token_hex(4), gpu)
        device = None if gpu is None else self._gpus.device(gpu)
        try:
            return WorkerProcess(self._launch, identity, device=device)
        except BaseException:
            self._gpus.release(number)
            raise

    def _slot_of(self, process: WorkerProcess) -> Slot:
        return next(slot for slot in self.slots if slot.process is process)


def back_off_seconds(failures: int) -> float:
    """Return 0 after none, then 0.5, 1, 2 … and at most 10."""
    if failures == 0:
        return 0.0
    return min(FIRST_BACK_OFF_SECONDS * 2.0 ** min(failures - 1, 10), LONGEST_BACK_OFF_SECONDS)
