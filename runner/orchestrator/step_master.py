"""Lead one ParallelRunStep job: list, hand out, record, decide, end.

One loop, a look every 50 ms while the end is far; near the end and when the
listing ends a bell makes it look at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import redis
from django.conf import settings

from prsweb.jobs.models import Job
from prsweb.jobs.services import participation, scheduling
from prsweb.jobs.services.recording import Recording
from runner.core import job_log_texts as texts
from runner.core import outcome
from runner.core.leases import Range
from runner.core.messages import Order
from runner.core.outcome import Decision
from runner.core.run_settings import StepSettings
from runner.core.states import JobState
from runner.core.thresholds import Tally, find_exceeded, is_nothing_succeeded
from runner.orchestrator.decisions import Clocks, decide_by_clocks, decide_by_nodes
from runner.orchestrator.ending import end_job
from runner.orchestrator.events import Events
from runner.orchestrator.input_files import InputUnreadable
from runner.orchestrator.job_context import Every, JobContext
from runner.orchestrator.job_logs import JobLogs
from runner.orchestrator.lease_queue import READ_REPORTS, LeaseQueue, Look
from runner.orchestrator.lister import Lister, Listing
from runner.orchestrator.lost_nodes import read_journal, settle_leases
from runner.orchestrator.mini_batch_report import MiniBatchReport
from runner.orchestrator.node_watch import Lost, NodeWatch
from runner.orchestrator.participants import Happened, Part, Participants
from runner.orchestrator.progress import Progress
from runner.orchestrator.recorder import Recorder, Taken
from runner.orchestrator.take_over import rebuild_queue

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.05
AWAY_SECONDS = 0.5  # between attempts while Redis is away
CANCEL_LOOK_SECONDS = 0.4
WATCH_SECONDS = 1.0
REPLAY_REPORTS = 64
ORPHAN_SECONDS = 5.0  # without the end of any try


class StepMaster:
    def __init__(
        self, job: Job, owner: str, client: redis.Redis, stop: threading.Event
    ) -> None:
        folder = settings.PRSWEB_HOME.job(job.job_id)
        logs = JobLogs(folder, take_over=job.take_overs)
        step = StepSettings.from_spec(job.spec)
        self.context = JobContext(
            job=job,
            owner=owner,
            client=client,
            stop=stop,
            folder=folder,
            settings=step,
            logs=logs,
            queue=LeaseQueue(client, job.job_id),
            events=Events(client),
        )
        recording = Recording(job, owner, run_max_try=step.run_max_try)
        report = MiniBatchReport(folder)
        self.participants = Participants(job, owner, recording.groups, logs, report)
        self.recorder = Recorder(
            recording, self.participants, report, _tally_of(job), repeated=job.repeated_tries
        )
        self.progress = Progress(self.context, self.recorder, self.participants)
        self.clocks = Clocks()
        self._watch = NodeWatch(client, job.job_id)
        self._lister: Lister | None = None
        self._listing = Listing()
        self._checked_at = 0.0
        self._invalid_script = ""
        self._cancel_look = Every(CANCEL_LOOK_SECONDS)
        self._watching = Every(WATCH_SECONDS)
        self._is_away = False
        self.closing: tuple[str, Order] | None = None  # told to nodes since the end

    # --- from the beginning to the end ---------------------------------------------

    def lead(self) -> None:
        """Lead until the job has ended, or this orchestrator ends."""
        self._begin()
        try:
            decision = self._work()
            if decision is not None:
                end_job(self, decision)
        finally:
            if self._lister is not None:
                self._lister.stop()
        text = f"Master role on {self.context.logs.host} ended."
        self.context.logs.master(text)
        if decision is None:
            self.context.logs.overview(text)

    def _begin(self) -> None:
        context, job = self.context, self.context.job
        self.participants.refresh()
        names = sorted(self.participants.node_names.values())
        context.logs.make_tree(job.job_id, job.name, names)
        participation.add_warnings(job, _repetitions(context.settings))
        is_first = not job.phase
        self._say_start(is_first, names)
        self._start_listing(is_listed=job.phase != "" and not job.is_listing)
        if is_first:
            context.queue.make(processes=self.participants.process_count, is_paused=False)
            self.progress.phase = "listing"
            self.progress.write_now()
        else:
            self._rebuild()
        context.publish()

    def _say_start(self, is_first: bool, names: list[str]) -> None:
        context, job, logs = self.context, self.context.job, self.context.logs
        if is_first:
            text = f"Master role on {logs.host} started."
            facts = [
                f"job {job.job_id} {job.name}, prsweb {job.version}",
                f"snapshot {context.folder.snapshot}",
                f"nodes granted: {', '.join(names) or 'none yet'}",
            ]
            logs.driver_start(job.spec, facts)
        else:
            done = self.recorder.tally.ended
            text = (
                f"Master role taken over by {logs.host}, {done} mini-batches recorded so far."
            )
        logs.overview(text)
        logs.master(text)

    def _start_listing(self, *, is_listed: bool) -> None:
        job, context = self.context.job, self.context
        if is_listed:
            self._listing = Listing(job.mini_batches_created, job.items_created, is_ended=True)
            return
        self._lister = Lister(
            context.settings, context.folder, is_allowed=_is_allowed, on_turn=self._ring
        )
        self._lister.start()
        self.recorder.tally = replace(self.recorder.tally, is_listing=True)

    def _ring(self) -> None:
        """Called by the lister's thread."""
        try:
            self.context.queue.ring_bell()
        except redis.RedisError as error:
            logger.debug("bell not rung: %s", error)

    def _work(self) -> Decision | None:
        """Return what ended the job's work; None when this orchestrator ends first."""
        while not self.context.stop.is_set():
            self.tick()
            decision = self._decide()
            if decision is not None:
                return decision
            self.wait()
        return None

    def wait(self) -> None:
        """Wait for the bell or the next tick."""
        try:
            self.context.queue.wait_for_bell(TICK_SECONDS)
        except redis.RedisError:
            self.context.stop.wait(AWAY_SECONDS)

    # --- one look ------------------------------------------------------------------

    def tick(self) -> None:
        """Record what is reported, show what is listed, keep the times."""
        now = time.monotonic()
        try:
            self._exchange(now)
            self._note_away(None)
        except redis.RedisError as error:
            self._note_away(error)
        self.context.keep_leading()
        self.progress.keep(now)
        self.context.publish()

    def _exchange(self, now: float) -> None:
        look = self.context.queue.look()
        if look.epoch != self.context.queue.epoch:
            self._rebuild()
            return
        while look.epoch == self.context.queue.epoch:  # else: seen at the next look
            self._show_listing(look)
            self._record_all(look.reports)
            if len(look.reports) < READ_REPORTS:
                break
            look = self.context.queue.look()
        if self._watching.is_due(now):
            self._look_after_nodes(now)
            self._look_for_orphans(now)

    def _record_all(self, reports: list[bytes]) -> None:
        while reports:
            taken = self.record(reports)
            self.context.queue.drop_reports(taken.entries)
            self.context.keep_leading()
            reports = reports[taken.entries :]

    def _look_for_orphans(self, now: float) -> None:
        """Make the queue anew when mini-batches have no outcome though nobody holds
        them: whatever lost them, the job must not wait for ever."""
        tally = self.recorder.tally
        is_quiet = now - max(self.clocks.last_end, self._checked_at) > ORPHAN_SECONDS
        if not is_quiet or tally.ended >= tally.created or not self.participants.parts:
            return
        self._checked_at = now
        if self.context.queue.is_empty():
            self.context.logs.master("mini-batches are held by nobody", "WARNING")
            self._rebuild()

    def record(self, reports: list[bytes], *, is_replay: bool = False) -> Taken:
        """Record reports and act on what they have led to."""
        taken = self.recorder.take(reports, is_replay=is_replay)
        self.put_back(taken.put_back)
        happened = taken.happened
        self.context.kinds |= happened.kinds
        if "errors" in happened.kinds:
            self.progress.note_errors()
        if happened.has_ended_something:
            self.clocks.last_end = time.monotonic()
        self._act(happened)
        return taken

    def replay(self, reports: list[bytes]) -> None:
        """Record what of these, read from a journal, is not recorded yet."""
        while reports:
            taken = self.record(reports, is_replay=True)
            self.context.keep_leading()
            reports = reports[taken.entries :]

    def _act(self, happened: Happened) -> None:
        for line in happened.overview:
            self.context.logs.overview(line)
            self.context.logs.master(line)
        self._invalid_script = self._invalid_script or happened.invalid_script
        for part in happened.over:
            self.take_back_leases(part)
        if happened.over or "nodes" in happened.kinds:
            self._count_processes()

    def put_back(self, ranges: list[Range]) -> None:
        if ranges and self.context.queue.put_back(ranges):
            self.wake_nodes()

    def wake_nodes(self) -> None:
        self.order(Order("wake"))

    def order(self, order: Order) -> None:
        self.context.queue.order(list(self.participants.parts), order)

    def tell_closing(self) -> None:
        """Close the queue and order the nodes to leave, once the end has begun."""
        if self.closing is not None:
            how, order = self.closing
            self.context.queue.close(how)
            self.order(order)

    def forget_queue(self) -> None:
        try:
            self.context.queue.remove()
        except redis.RedisError as error:
            logger.info("job %d: queue not removed: %s", self.context.job.pk, error)

    def _count_processes(self) -> None:
        self.context.queue.set_processes(self.participants.process_count)

    def _show_listing(self, look: Look) -> None:
        """Let be leased what the lister has written since the last look."""
        listing = self._lister.listing if self._lister is not None else self._listing
        if listing is self._listing and look.created == listing.created:
            return
        has_ended = listing.is_ended and not self._listing.is_ended
        self._listing = listing
        self.progress.items = listing.items
        tally = self.recorder.tally
        self.recorder.tally = replace(
            tally,
            created=listing.created,
            is_listing=not listing.is_ended,
        )
        if listing.created != look.created and self.context.queue.raise_created(
            listing.created
        ):
            self.wake_nodes()
        if has_ended:
            self._say_listed(listing)

    def _say_listed(self, listing: Listing) -> None:
        text = texts.listing_ended(listing.created, listing.items, listing.seconds)
        self.context.logs.overview(text)
        self.context.logs.master(text)
        self.clocks.listing_seconds = listing.seconds
        self.progress.phase = "running"
        self.progress.write_now()

    def _note_away(self, error: redis.RedisError | None) -> None:
        if (error is not None) == self._is_away:
            return
        self._is_away = error is not None
        text = f"Redis is away: {error}" if error else "Redis is back"
        logger.warning("job %d: %s", self.context.job.pk, text)
        self.context.logs.master(text, "WARNING")

    # --- nodes ----------------------------------------------------------------------

    def _look_after_nodes(self, now: float) -> None:
        fresh = self.participants.refresh()
        if fresh:
            self._count_processes()
            self.context.kinds.add("nodes")
            for part in fresh:
                self.context.logs.driver(f"node granted: {part.name}")
            self.tell_closing()
        for lost in self._watch.find_lost(list(self.participants.parts.values()), now):
            self.lose(lost)
        self._say_nodes(now)

    def lose(self, lost: Lost) -> None:
        """Take back everything from a node that is gone; the scheduler replaces it."""
        part = lost.part
        for reports in _some(read_journal(self.context.folder, part.name, part.number)):
            self.replay(reports)
        if part.number not in self.participants.parts:
            return  # its journal says that it had ended
        gone_back = self.take_back_leases(part)
        self.participants.end_lost(part, lost.reason, gone_back=gone_back)
        line = texts.node_lost(part.name, gone_back)
        self.context.logs.overview(line)
        self.context.logs.master(f"{line} {lost.reason}", "WARNING")
        self.context.kinds |= {"nodes", "processes"}
        self._count_processes()

    def take_back_leases(self, part: Part) -> int:
        """End what an assignment holds; return how many mini-batches go back."""
        leases = self.context.queue.revoke(part.number)
        if not leases:
            return 0
        settled = settle_leases(
            self.context.job.pk,
            self.context.folder,
            leases,
            node_index=part.job_node.index,
            assignment=part.number,
            now_us=time.time_ns() // 1000,
        )
        self.put_back(settled.put_back)
        if settled.blocks:
            self.record(settled.blocks)
        return sum(one.count for one in settled.put_back) + len(settled.blocks)

    def _say_nodes(self, now: float) -> None:
        """Keep the reason of the state true while no node works on the job."""
        job = self.context.job
        if self.participants.parts:
            if self.clocks.nodeless_since is not None:
                self.clocks.nodeless_since = None
                self.clocks.last_end = now
                scheduling.note_waiting(job, "nodes work on it again")
                self.context.kinds.add("state")
        elif self.clocks.nodeless_since is None:
            self.clocks.nodeless_since = now
            if job.state == JobState.RUNNING:
                scheduling.note_waiting(job, "waiting for a node: none is left")
                self.context.kinds.add("state")

    def _rebuild(self) -> None:
        """Make the queue anew: after a take-over, or when Redis was wiped."""
        self.context.logs.master("the queue is made anew", "WARNING")
        back = rebuild_queue(self)
        self.tell_closing()
        self.context.logs.master(f"the queue is open again, {back} mini-batches go back")

    # --- decisions ------------------------------------------------------------------

    def _decide(self) -> Decision | None:
        """Return what ends the job's work now, or None."""
        tally, limits = self.recorder.tally, self.context.settings.limits
        if self._cancel_look.is_due(time.monotonic()):
            cancelled = self._look_for_cancel()
            if cancelled is not None:
                return cancelled
        if self._invalid_script:
            return outcome.entry_script_invalid(self._invalid_script)
        exceeded = find_exceeded(limits, tally)
        if exceeded is not None:
            return outcome.by_threshold(exceeded, tally)
        failed = self._listing_failed()
        if failed is not None:
            return failed
        if tally.is_complete and self._listing.is_ended:
            return self._completed(tally)
        return decide_by_nodes(self) or decide_by_clocks(self)

    def _completed(self, tally: Tally) -> Decision:
        items = tally.items_in_all(self.progress.items)
        if not items:
            return outcome.no_input(self._shown_input())
        if is_nothing_succeeded(self.context.settings.limits, tally):
            return outcome.nothing_succeeded(tally, items=items)
        return outcome.succeeded(tally)

    def _listing_failed(self) -> Decision | None:
        error = self._listing.error
        if error is None:
            return None
        if isinstance(error, InputUnreadable):
            return outcome.input_unreadable(error.path, error.message)
        if isinstance(error, ValueError):
            return outcome.input_unreadable(self._shown_input(), str(error))
        return outcome.system_error(f"listing the input: {error}")

    def _shown_input(self) -> str:
        paths = [path for one in self.context.settings.inputs for path in one.paths]
        return ", ".join(paths) or "no path is given"

    def _look_for_cancel(self) -> Decision | None:
        row = Job.objects.filter(pk=self.context.job.pk).values_list(
            "cancel_requested_at", "cancel_requested_by", "cancel_reason"
        )
        at, by, reason = row.get()
        if at is None:
            return None
        return outcome.cancelled(by or "somebody", reason or "")


def _tally_of(job: Job) -> Tally:
    return Tally(
        created=job.mini_batches_created,
        is_listing=job.is_listing,
        succeeded=job.succeeded_count,
        partial=job.partial_count,
        failed=job.failed_count,
        succeeded_items=job.succeeded_items,
        failed_items=job.failed_items,
        results=job.result_count,
    )


def _repetitions(step: StepSettings) -> list[str]:
    """Return a sentence for each input whose list names paths more than once."""
    counts = {one.name: len(one.paths) - len(set(one.paths)) for one in step.inputs}
    return [
        f"input {name}: {count} paths are named again; each is listed as often as it is named"
        for name, count in counts.items()
        if count
    ]


def _is_allowed(path: str) -> bool:
    """Whether a link may be followed: its target lies below a root of the settings.
    Without roots every path may be read, as the submission has checked."""
    roots = settings.PRSWEB_INPUT_ROOTS
    return not roots or any(Path(path).is_relative_to(root) for root in roots)


def _some(reports: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield the reports of a journal a transaction's worth at a time."""
    while some := list(islice(reports, REPLAY_REPORTS)):
        yield some
