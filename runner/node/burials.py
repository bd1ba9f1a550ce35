"""What follows the end of a worker process: its try, its leases, its replacement."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from runner.core.messages import ProcessEnded
from runner.node.deaths import Death, judge_death
from runner.node.failed_tries import Place, pack_failed_try, read_item_count
from runner.node.held_leases import settle_death
from runner.node.last_words import read_from, read_tail
from runner.node.memory_kills import count_memory_kills
from runner.node.process_exit import ProcessExit
from runner.node.process_tree import kill_marked
from runner.node.step_part import StepPart
from runner.node.worker_process import WorkerProcess
from runner.node.write_probe import describe_writing


class Burials:
    def __init__(self, part: StepPart) -> None:
        self._part = part
        self._memory_kills = count_memory_kills()

    def bury(self, process: WorkerProcess, process_exit: ProcessExit) -> None:
        """Settle everything of a dead process, whose pipe has been read."""
        now = time.monotonic()
        death = self._judge(process, process_exit)
        self._settle(process, death, now)
        if death.is_init_failure and not process.is_init_failed:
            self._part.count_init_failure(
                process.number,
                init_seconds=now - process.started_at,
                error=self._describe_init_error(process, death),
            )
        self._remove(process, death, now)
        self._judge_crew(death)

    def _judge(self, process: WorkerProcess, process_exit: ProcessExit) -> Death:
        kills_before, self._memory_kills = self._memory_kills, count_memory_kills()
        return judge_death(
            process,
            process_exit,
            stop_reason=self._part.stop_reason,
            memory_kills=(kills_before, self._memory_kills),
            memory_percent=self._part.monitor.memory_percent,
        )

    def _describe_init_error(self, process: WorkerProcess, death: Death) -> dict[str, Any]:
        error = death.describe_init_error(process.words())
        return {**error, "traceback": self._with_last_words(process, str(error["traceback"]))}

    def _with_last_words(self, process: WorkerProcess, detail: str) -> str:
        """Add the stacks it was asked for, or the end of its standard error, where the
        interpreter writes what it dies of."""
        place = self._part.place
        node, folder = place.assignment.node_name, place.folder
        if process.expiry is not None:
            stacks = read_from(place.user_error(process.number), process.stacks_from)
            return f"{detail}\n\n{stacks}" if stacks else detail
        words = read_tail(folder.descriptor_log(node, process.number, "stderr"))
        return f"{detail}\n\nIts last lines on standard error:\n{words}" if words else detail

    def _settle(self, process: WorkerProcess, death: Death, now: float) -> None:
        words = process.words()
        failure = death.failure
        settlement = settle_death(process.held, words, is_try_counted=failure is not None)
        process.held = []
        if settlement.started is not None and failure is not None:
            assignment = self._part.assignment
            block = pack_failed_try(
                Place(assignment.number, assignment.node_index, process.number),
                words,
                replace(failure, detail=self._with_last_words(process, failure.detail)),
                items=read_item_count(self._part.place.folder.manifest_index, words.mini_batch),
                now=time.time(),
                now_ns=time.monotonic_ns(),
            )
            self._part.supply.report_bytes(block, now=now)
        self._part.supply.settle(settlement, now=now)

    def _remove(self, process: WorkerProcess, death: Death, now: float) -> None:
        part, done = self._part, process.words().done
        if not death.is_expected:
            part.live.note_death(process)
            self._kill_stragglers(process)
        got_anywhere = process.is_ready and (done > 0 or death.is_expected)
        part.crew.remove(process, now=now, got_anywhere=got_anywhere)
        process.close()
        part.watch_crew()
        part.report(
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
        assignment = self._part.assignment
        kill_marked(
            {
                "PRSWEB_JOB_ID": assignment.job_id,
                "PRSWEB_NODE_NAME": assignment.node_name,
                "PRSWEB_PROCESS": str(process),
            }
        )

    def _judge_crew(self, death: Death) -> None:
        inits = self._part.crew.inits
        if death.cannot_write:
            said = describe_writing(self._part.place.folder.segments)
            self._part.give_up(
                f"a segment cannot be written in {said}", cause="output_not_writable"
            )
        elif inits.is_given_up:
            self._part.give_up(
                f"init() failed {inits.failures} times on this node and never succeeded",
                cause="init_failed",
            )
