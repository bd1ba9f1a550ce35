"""Write how far a job is: the Job row, the overview file, the summaries of errors."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import redis

from prsweb.jobs.models import ErrorGroup, Job
from prsweb.jobs.transitions import StaleState
from runner.core import job_log_texts as texts
from runner.core.estimate import CompletionHistory, Present, Remaining, estimate_remaining
from runner.core.messages import LiveNode, LiveProcess, MalformedMessage
from runner.core.standstill import (
    describe_processes,
    is_first_pick_late,
    is_standing_still,
)
from runner.core.states import ACTIVE_STATES
from runner.orchestrator.job_context import Every, JobContext
from runner.orchestrator.job_logs import now as wall_clock
from runner.orchestrator.participants import Participants
from runner.orchestrator.recorder import Recorder

BUSY_PHASES = frozenset({"load", "run", "write", "written"})
WRITE_SECONDS = 0.5
REST_SECONDS = 5.0  # the row is written though nothing has changed: it shows its age
LINE_SECONDS = 10.0
SLOW_LINE_SECONDS = 120.0
SLOW_FROM_SECONDS = 300.0  # left to go
SUMMARY_SECONDS = 5.0
STANDSTILL_SECONDS = 60.0
MOST_GROUPS = 200  # in the summaries


@dataclass(frozen=True)
class Snapshot:
    """The columns last written."""

    columns: dict[str, Any]
    at: float


class Progress:
    def __init__(
        self, context: JobContext, recorder: Recorder, participants: Participants
    ) -> None:
        self._context = context
        self._recorder = recorder
        self._participants = participants
        self.items = context.job.items_created
        self.phase = context.job.phase
        self.history = CompletionHistory()
        self.live: list[LiveProcess] = []
        self.last_completion = time.monotonic()
        self._last_total = recorder.tally.ended
        self._written: Snapshot | None = None
        self._writing = Every(WRITE_SECONDS)
        self._line = Every(LINE_SECONDS)
        self._summary = Every(SUMMARY_SECONDS)
        self._standstill = Every(STANDSTILL_SECONDS)
        self._has_new_errors = False
        self._line.is_due(time.monotonic())  # the first line comes after the first interval

    def note_errors(self) -> None:
        self._has_new_errors = True

    def keep(self, now: float) -> None:
        """Write what is due at ``now`` (monotonic)."""
        if not self._writing.is_due(now):
            return
        total = self._recorder.tally.ended
        if total != self._last_total:
            self._last_total, self.last_completion = total, now
        self.history.note(at=now, total=total)
        self._read_live()
        remaining = self.remaining(now)
        self._write_row(remaining, now)
        if self._line.is_due(now):
            self._write_line(remaining)
        if self._has_new_errors and self._summary.is_due(now):
            self.write_errors()
        self._say_standstill(now)

    def _say_standstill(self, now: float) -> None:
        """Say once a minute what is known while nothing moves."""
        running_at, logs = self._context.job.running_at, self._context.logs
        if running_at is None or not self._participants.parts:
            return
        limit = self._context.settings.deadlines.progress_update
        silent = now - self.last_completion
        doing = describe_processes(self.live)
        if is_first_pick_late(
            running_seconds=self.elapsed_seconds(), ended=self._last_total, live=self.live
        ):
            line = texts.nothing_picked(doing)
        elif is_standing_still(silent_seconds=silent, limit_seconds=limit, live=self.live):
            line = texts.nothing_ended(silent, limit, doing)
        else:
            return
        if self._standstill.is_due(now):
            logs.overview(line)

    def remaining(self, now: float) -> Remaining | None:
        tally = self._recorder.tally
        busy = [one for one in self.live if one.phase in BUSY_PHASES]
        present = Present(
            is_listing=tally.is_listing,
            done=tally.ended,
            left=max(0, tally.created - tally.ended),
            processes=self._participants.process_count,
            seconds_since_completion=now - self.last_completion,
            durations=list(self._recorder.durations),
            running_for=[one.since_seconds for one in busy],
        )
        return estimate_remaining(self.history, present, now=now)

    def _read_live(self) -> None:
        """Read what the processes do now; while Redis is away the last look stays."""
        names = sorted({part.name for part in self._participants.parts.values()})
        keys = [self._context.queue.keys.live(name) for name in names]
        try:
            values = self._context.client.mget(keys) if keys else []
        except redis.RedisError:
            return
        self.live = [one for value in values if value for one in _parse_live(value)]

    def _write_row(self, remaining: Remaining | None, now: float) -> None:
        columns = self._columns(remaining)
        old = self._written
        has_changed = old is None or old.columns != columns
        if not has_changed and old is not None and now - old.at < REST_SECONDS:
            return
        self._update(**columns)
        self._written = Snapshot(columns, now)
        if has_changed:
            self._context.kinds |= {"progress", "processes"}

    def write_now(self) -> None:
        """Write the row whatever was written before."""
        self._written = None
        self._write_row(self.remaining(time.monotonic()), time.monotonic())

    def _columns(self, remaining: Remaining | None) -> dict[str, Any]:
        tally = self._recorder.tally
        busy = {one.mini_batch for one in self.live if one.phase in BUSY_PHASES}
        left = max(0, tally.created - tally.ended)
        running = min(len(busy), left)
        retrying = len(self._recorder.retrying - busy)
        return {
            "mini_batches_created": tally.created,
            "items_created": tally.items_in_all(self.items),
            "is_listing": tally.is_listing,
            "running_count": running,
            "retrying_count": min(retrying, left - running),
            "remaining_seconds": remaining and round(remaining.middle, 1),
            "remaining_seconds_low": remaining and round(remaining.low, 1),
            "remaining_seconds_high": remaining and round(remaining.high, 1),
            "phase": self.phase,
        }

    def _update(self, **columns: Any) -> None:
        job, context = self._context.job, self._context
        led = Job.objects.filter(pk=job.pk, master_owner=context.owner, state__in=ACTIVE_STATES)
        if led.update(progress_at=wall_clock(), **columns) != 1:
            raise StaleState(f"job {job.pk} is led by another master, or has ended")
        for name, value in columns.items():
            setattr(job, name, value)

    def _write_line(self, remaining: Remaining | None) -> None:
        seconds_left = remaining.middle if remaining else 0.0
        slow = seconds_left > SLOW_FROM_SECONDS
        self._line.seconds = SLOW_LINE_SECONDS if slow else LINE_SECONDS
        logs, tally = self._context.logs, self._recorder.tally
        if tally.is_listing:
            logs.overview(texts.created_so_far(tally.created, self.items))
        self.write_progress_line(remaining)

    def write_progress_line(self, remaining: Remaining | None) -> None:
        tally, seconds = self._recorder.tally, self.elapsed_seconds()
        logs = self._context.logs
        logs.overview(
            texts.progress(
                tally,
                items=tally.items_in_all(self.items),
                seconds=seconds,
                remaining=remaining,
                repeated=self._recorder.repeated,
            )
        )
        left = None if remaining is None else f"{remaining.middle:.0f}"
        scheduled = tally.ended + self._context.job.running_count
        logs.progress(
            [tally.created, scheduled, tally.ended, tally.failed, f"{seconds:.0f}", left]
        )
        self._context.kinds.add("log")

    def elapsed_seconds(self) -> float:
        """Return the time since RUNNING, 0 before."""
        running_at = self._context.job.running_at
        return (wall_clock() - running_at).total_seconds() if running_at else 0.0

    def write_errors(self) -> None:
        """Bring ``user/error.txt`` and ``job_error.*.txt`` up to date."""
        self._has_new_errors = False
        job = self._context.job
        groups = ErrorGroup.objects.filter(job=job).order_by("-count", "pk")[:MOST_GROUPS]
        summary = texts.error_summary(map(_summary_of, groups), at=wall_clock())
        self._context.logs.errors(summary)


def _summary_of(group: ErrorGroup) -> texts.GroupSummary:
    return texts.GroupSummary(
        title=group.title,
        fingerprint=group.fingerprint,
        place=group.place,
        count=group.count,
        mini_batch_count=group.mini_batch_count,
        nodes=group.nodes,
        first_at=group.first_at,
        last_at=group.last_at,
        traceback=group.traceback,
        sample_mini_batches=group.sample_mini_batches,
    )


def _parse_live(value: bytes) -> tuple[LiveProcess, ...]:
    try:
        return LiveNode.from_json(value).processes
    except MalformedMessage:
        return ()
