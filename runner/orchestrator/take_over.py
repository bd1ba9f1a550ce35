"""Make a job's queue anew: when another master led the job before, or Redis was wiped.

Nodes that are alive tell what they hold; their journals are read for what has
not been recorded; whatever is then neither recorded nor held goes back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from prsweb.jobs.services.recording import find_last_recorded, find_unrecorded
from runner.core.leases import Range
from runner.core.messages import Order
from runner.orchestrator.lost_nodes import read_journal

if TYPE_CHECKING:
    from runner.orchestrator.step_master import StepMaster

ADOPT_SECONDS = 1.5
LOOK_SECONDS = 0.05
REPLAY_REPORTS = 64


class QueueReplaced(Exception):
    """While this master made the queue anew, Redis was wiped or another master made it."""


def rebuild_queue(master: StepMaster) -> int:
    """Return how many mini-batches went back. Raises redis.RedisError while Redis is
    away; then it is done again. Raises MasterLeaseLost when another master leads."""
    while True:
        # A queue of another epoch may be that of the master that took over.
        master.context.prove_leading()
        try:
            return _rebuild(master)
        except QueueReplaced:
            continue


def _rebuild(master: StepMaster) -> int:
    context, participants = master.context, master.participants
    context.queue.make(processes=participants.process_count, is_paused=True)
    participants.refresh()
    master.order(Order("wake", reason="the queue was made anew"))
    _replay(master)
    _wait_for_adoption(master)
    _drain(master)
    ranges, first_fresh = find_open_ranges(
        context.job.pk,
        held=[lease.range for lease in context.queue.leases()],
        retrying=master.recorder.retrying_tries,
    )
    created = master.recorder.tally.created
    first_fresh = min(first_fresh, created)
    context.queue.open(first_fresh=first_fresh, created=created, back=ranges)
    master.wake_nodes()
    return sum(one.count for one in ranges)


def _replay(master: StepMaster) -> None:
    """Record what the journals of the present assignments have beyond the database."""
    for part in list(master.participants.parts.values()):
        reports = read_journal(master.context.folder, part.name, part.number)
        while some := list(islice(reports, REPLAY_REPORTS)):
            master.replay(some)


def _drain(master: StepMaster) -> None:
    queue = master.context.queue
    while (look := queue.look()).reports:
        if look.epoch != queue.epoch:
            raise QueueReplaced  # reports of such a queue are not ours to drop
        reports = look.reports
        while reports:
            taken = master.record(reports, is_replay=True)
            queue.drop_reports(taken.entries)
            master.context.keep_leading()
            reports = reports[taken.entries :]


def _wait_for_adoption(master: StepMaster) -> None:
    """Wait until every node has told what it holds, or for a second and a half: a
    node that holds nothing tells nothing."""
    deadline = time.monotonic() + ADOPT_SECONDS
    while time.monotonic() < deadline and not master.context.stop.is_set():
        _drain(master)
        if master.recorder.tally.is_complete:
            return
        told = {lease.assignment for lease in master.context.queue.leases()}
        if told >= set(master.participants.parts):
            return
        master.context.stop.wait(LOOK_SECONDS)


def find_open_ranges(
    job_number: int, *, held: list[Range], retrying: dict[int, int]
) -> tuple[list[Range], int]:
    """Return what goes back and the first mini-batch that was never given out.

    ``retrying``: index -> number of its last failed try. Everything below the
    largest number recorded, held or tried was given out; of that, what is
    neither recorded nor held goes back, at the try that comes next.
    """
    first_fresh = max(
        find_last_recorded(job_number) + 1,
        max((one.end for one in held), default=0),
        max(retrying, default=-1) + 1,
    )
    ranges: list[Range] = []
    for first, count in find_unrecorded(job_number, first_fresh):
        for start, end in _without(first, first + count, held):
            ranges += _at_their_tries(start, end, retrying)
    return ranges, first_fresh


def _without(first: int, end: int, held: list[Range]) -> Iterator[tuple[int, int]]:
    """Yield the parts of ``first`` to ``end`` that no held range covers."""
    for one in sorted(held, key=lambda each: each.first):
        if one.end <= first or one.first >= end:
            continue
        if one.first > first:
            yield first, one.first
        first = max(first, one.end)
    if first < end:
        yield first, end


def _at_their_tries(first: int, end: int, retrying: dict[int, int]) -> Iterator[Range]:
    """Yield the ranges of ``first`` to ``end``, each at one try number."""
    for index in sorted(index for index in retrying if first <= index < end):
        if index > first:
            yield Range(first, index - first, 1)
        yield Range(index, 1, retrying[index] + 1)
        first = index + 1
    if first < end:
        yield Range(first, end - first, 1)
