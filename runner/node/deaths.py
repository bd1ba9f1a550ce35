"""What the end of a worker process means. Pure, but for the reading of the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runner.core.wire_format import wire
from runner.node.clocks import Expiry, PhaseWords
from runner.node.failed_tries import Failure, describe_error
from runner.node.process_exit import ProcessExit, signal_name
from runner.node.worker_process import WorkerProcess

SIGKILL = 9
FULL_PERCENT = 90.0  # memory of the node at the last sample: "probably" for want of it


@dataclass(frozen=True)
class Death:
    process_exit: ProcessExit
    words: str  # for people
    is_expected: bool  # it was asked to end
    is_init_failure: bool
    cannot_write: bool  # its segment, disk full: no try is counted
    failure: Failure | None  # of the mini-batch it had started; None: no try is counted

    def describe_init_error(self, words: PhaseWords) -> dict[str, Any]:
        """Return the error of a process that died before init() had returned."""
        failure = self.failure or _of_exit(self.process_exit, self.words)
        return describe_error(words, failure) | {"index": None, "try": None}


def judge_death(
    process: WorkerProcess,
    process_exit: ProcessExit,
    *,
    stop_reason: str,
    memory_kills: tuple[int | None, int | None],
    memory_percent: float | None,
) -> Death:
    """Return what the end means.

    ``stop_reason`` is "" unless all processes were stopped; ``memory_kills`` are
    the kernel's counts of kills for memory before and now.
    """
    phase = process.words().phase
    is_early = not process.is_ready and phase in (wire.PHASE_STARTING, wire.PHASE_INIT)
    is_expected = process.is_asked_to_end or process.is_gone_well
    cannot_write = process_exit.exit_code == wire.EXIT_SEGMENT_NOT_WRITABLE
    failure = _find_failure(process, process_exit, stop_reason, memory_kills, memory_percent)
    return Death(
        process_exit=process_exit,
        words=_describe(process, process_exit, failure),
        is_expected=is_expected,
        is_init_failure=is_early and not is_expected,
        cannot_write=cannot_write,
        failure=None if cannot_write else failure,
    )


def _find_failure(
    process: WorkerProcess,
    process_exit: ProcessExit,
    stop_reason: str,
    memory_kills: tuple[int | None, int | None],
    memory_percent: float | None,
) -> Failure:
    if process.expiry is not None:
        return _of_expiry(process.expiry, str(process))
    if stop_reason == "order":
        return Failure(
            wire.STOPPED, "stopped", "Stopped with the job", f"{process} was stopped"
        )
    if stop_reason:
        detail = f"{process} was stopped, for its node was taken away"
        return Failure(wire.NODE_LOST, "node_lost", "Its node was lost", detail)
    verdict = (
        "" if process.is_killed else _memory_verdict(process_exit, memory_kills, memory_percent)
    )
    if verdict:
        return _of_memory(process, is_sure=verdict == "surely")
    return _of_exit(process_exit, f"{process} died: {process_exit}")


def _of_expiry(expiry: Expiry, process: str) -> Failure:
    title = f"Ran longer than {expiry.clock} ({expiry.limit_seconds:g} s)"
    return Failure(expiry.status, f"timeout:{expiry.clock}", title, f"{process}: {expiry}")


def _of_memory(process: WorkerProcess, *, is_sure: bool) -> Failure:
    title = (
        "Killed by the kernel: out of memory"
        if is_sure
        else "Probably killed for want of memory"
    )
    size = process.peak_rss_bytes
    held = f"; it had {size >> 20} MiB at its last sample" if size else ""
    return Failure(
        wire.OUT_OF_MEMORY,
        "oom" if is_sure else "oom:likely",
        title,
        f"{process}: {title}{held}",
    )


def _of_exit(process_exit: ProcessExit, detail: str) -> Failure:
    if process_exit.exit_code == wire.EXIT_FILES_TAKEN:
        title = "The script closed the files of its process, or limited them"
    elif process_exit.signal_number is None:
        title = f"Ended with exit code {process_exit.exit_code}"
    else:
        number = process_exit.signal_number
        title = f"Ended by signal {number} ({signal_name(number)})"
    return Failure(wire.PROCESS_DIED, process_exit.error_kind, title, detail)


def _memory_verdict(
    process_exit: ProcessExit,
    memory_kills: tuple[int | None, int | None],
    memory_percent: float | None,
) -> str:
    """Return "surely" or "probably", or "" when memory was not the reason."""
    if process_exit.signal_number != SIGKILL:
        return ""
    before, after = memory_kills
    if before is not None and after is not None:
        return "surely" if after > before else ""
    return "probably" if (memory_percent or 0.0) >= FULL_PERCENT else ""


def _describe(process: WorkerProcess, process_exit: ProcessExit, failure: Failure) -> str:
    if process.is_gone_well and process_exit.exit_code == wire.EXIT_ENDED:
        return "ended"
    if process.expiry is not None:
        return f"{process_exit}: {process.expiry}"
    if process_exit.exit_code == wire.EXIT_INIT_FAILED:
        return "import or init() failed"
    if process_exit.exit_code == wire.EXIT_SEGMENT_NOT_WRITABLE:
        return "its segment cannot be written"
    if process_exit.exit_code == wire.EXIT_FILES_TAKEN:
        return f"{process_exit}: {failure.title.lower()}"
    if (
        failure.status == wire.OUT_OF_MEMORY
        or process_exit.exit_code == wire.EXIT_OUT_OF_MEMORY
    ):
        return f"{process_exit}: out of memory"
    return str(process_exit)
