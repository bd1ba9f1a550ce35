"""Write what nodes report about tries: rows, error groups and counters, in one transaction.

Recording the same report again changes nothing, in any order, so whoever is
in doubt sends again. The first outcome of a mini-batch wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from prsweb.jobs.models import Job, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import (
    mini_batch_index,
    mini_batch_key,
    process_key,
)
from prsweb.jobs.services.error_groups import Failure, GroupBook
from prsweb.jobs.transitions import StaleState, settle_mini_batches
from runner.core.blocks import FINAL_OUTCOMES, Block, Record
from runner.core.error_groups import CaughtError, group_partial, group_try
from runner.core.leases import Range
from runner.core.policy import Verdict, after_failure
from runner.core.states import ACTIVE_STATES, MiniBatchState
from runner.harness import wire

KEYS_PER_QUERY = 500


@dataclass
class Counts:
    """What a recording adds to the counters of the Job row, by their names there."""

    succeeded_count: int = 0
    partial_count: int = 0
    failed_count: int = 0
    succeeded_items: int = 0
    failed_items: int = 0
    result_count: int = 0
    repeated_tries: int = 0
    duplicates: int = 0

    def add(self, other: Counts) -> None:
        for member in fields(Counts):
            name = member.name
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def add_outcome(self, record: Record) -> None:
        """Count one mini-batch's final outcome."""
        outcome, items, succeeded, results = record[2], record[4], record[5], record[6]
        if outcome == wire.OUTCOME_SUCCEEDED:
            self.succeeded_count += 1
        elif outcome == wire.OUTCOME_PARTIAL:
            self.partial_count += 1
        else:
            self.failed_count += 1
        self.succeeded_items += succeeded
        self.failed_items += items - succeeded
        self.result_count += results

    @property
    def ended(self) -> int:
        return self.succeeded_count + self.partial_count + self.failed_count

    def as_update(self) -> dict[str, Any]:
        """Return the columns that change."""
        names = (member.name for member in fields(Counts))
        return {name: F(name) + getattr(self, name) for name in names if getattr(self, name)}


@dataclass(frozen=True)
class RecordedTries:
    """Tries of one process that were recorded now, for the report files."""

    node_index: int
    process: int
    body: bytes = b""  # records packed as they came: every one decided its mini-batch
    tries: Sequence[tuple[Record, str, str]] = ()  # with error category and message


@dataclass
class Recorded:
    """What one transaction has changed."""

    counts: Counts = field(default_factory=Counts)
    put_back: list[Range] = field(default_factory=list)  # to be tried again
    tries: list[RecordedTries] = field(default_factory=list)
    has_errors: bool = False
    record_count: int = 0  # as they came, repeated ones too
    last_total_us: int | None = None  # of a mini-batch that ended just now


class Recording:
    """The recording of one job by one master. Keeps the mini-batches that wait for
    another try, which are few: they are tried before anything new."""

    def __init__(self, job: Job, owner: str, *, run_max_try: int) -> None:
        self._job_number: int = job.pk
        self._owner = owner
        self._run_max_try = run_max_try
        self.groups = GroupBook(job)
        self.retrying = find_retrying(job.pk)  # index -> number of its last try
        self.is_stopping = False  # failed tries lead to nothing any more

    @transaction.atomic
    def record(self, blocks: Iterable[Block], *, node_names: Mapping[int, str]) -> Recorded:
        """Record ``blocks``, oldest first. ``node_names`` by node index.

        Raises StaleState, and changes nothing, when another master leads the job.
        """
        recorded = Recorded()
        for block in blocks:
            recorded.record_count += block.record_count
            if block.record_count and not self._record_fast(block, recorded):
                self._record_slowly(block, recorded, node_names)
        self._count(recorded)
        return recorded

    def is_known(self, block: Block) -> bool:
        """Whether every mini-batch of the block has its outcome already, so that a
        block that is read again need not be looked at."""
        if not block.is_all_final or not block.record_count:
            return False
        indexes = block.counts().indexes
        first, last = min(indexes), max(indexes)
        if last - first + 1 != len(indexes):
            return False
        rows = MiniBatch.objects.filter(
            key__gte=mini_batch_key(self._job_number, first),
            key__lte=mini_batch_key(self._job_number, last),
        )
        return rows.count() == len(indexes)

    def settled(self, recorded: Recorded) -> None:
        """Take note, once the transaction has been committed."""
        for back in recorded.put_back:
            self.retrying[back.first] = back.try_number - 1

    def _record_fast(self, block: Block, recorded: Recorded) -> bool:
        """Record a block of final outcomes that are all the first; False otherwise.

        Nothing but the number of changed rows tells: a difference is undone here.
        """
        if not block.is_all_final:
            return False
        sums = block.counts()
        if sums.partial or not self.retrying.keys().isdisjoint(sums.indexes):
            return False
        process = process_key(block.node_index, block.process)
        mark = transaction.savepoint()
        changed = settle_mini_batches(self._job_number, process, block.records())
        if changed != block.record_count:
            transaction.savepoint_rollback(mark)
            return False
        transaction.savepoint_commit(mark)
        counts = recorded.counts
        counts.succeeded_count += sums.succeeded
        counts.succeeded_items += sums.succeeded_items
        counts.failed_items += sums.items - sums.succeeded_items
        counts.result_count += sums.results
        recorded.last_total_us = block.last_record()[13]
        recorded.tries.append(RecordedTries(block.node_index, block.process, body=block.body))
        return True

    def _record_slowly(
        self, block: Block, recorded: Recorded, node_names: Mapping[int, str]
    ) -> None:
        """Record a block with failed, repeated or late tries, one by one."""
        records = list(block.records())
        sorter = _Sorter(self, block, _Known.read(self._job_number, records))
        for record in records:
            sorter.sort(record)
        sorter.write(node_names.get(block.node_index, ""))
        sorter.tell(recorded)

    def _count(self, recorded: Recorded) -> None:
        """Add to the Job row, which also proves that we still lead the job."""
        led = Job.objects.filter(
            pk=self._job_number, master_owner=self._owner, state__in=ACTIVE_STATES
        )
        changes = recorded.counts.as_update()
        if recorded.has_errors:
            changes["error_group_count"] = self.groups.count()
        if led.update(progress_at=timezone.now(), **changes) != 1:
            raise StaleState(f"job {self._job_number} is led by another master, or has ended")


@dataclass
class _Known:
    """What stands in the database about the mini-batches of one block."""

    outcomes: dict[int, tuple[int, int, int]]  # index -> tries, process, started_us
    tries: set[tuple[int, int]]  # index, number

    @classmethod
    def read(cls, job_number: int, records: Sequence[Record]) -> _Known:
        known = cls({}, set())
        keys = [mini_batch_key(job_number, record[0]) for record in records]
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            rows = MiniBatch.objects.filter(key__in=some)
            for key, tries, process, started_us in rows.values_list(
                "key", "tries", "process", "started_us"
            ):
                known.outcomes[mini_batch_index(key)] = (tries, process, started_us)
            others = MiniBatchTry.objects.filter(mini_batch__in=some)
            known.tries |= {
                (mini_batch_index(key), number)
                for key, number in others.values_list("mini_batch", "number")
            }
        return known


class _Sorter:
    """Sorts the records of one block into what they mean, then writes that."""

    def __init__(self, recording: Recording, block: Block, known: _Known) -> None:
        self._recording = recording
        self._block = block
        self._known = known
        self._errors = block.errors()
        self._process = process_key(block.node_index, block.process)
        self._winners: list[Record] = []
        self._duplicates: list[Record] = []
        self._failures: list[Failure] = []
        self._partial: list[Record] = []
        self._put_back: list[Range] = []
        self._counts = Counts()

    def sort(self, record: Record) -> None:
        if record[2] in FINAL_OUTCOMES:
            self._sort_outcome(record)
        else:
            self._sort_failure(record)

    def _sort_outcome(self, record: Record) -> None:
        index, try_number, started_us = record[0], record[1], record[9]
        this = (try_number, self._process, started_us)
        winner = self._known.outcomes.get(index)
        if winner is None:
            self._settle(record)
            if record[2] == wire.OUTCOME_PARTIAL:
                self._partial.append(record)
        elif winner != this and (index, try_number) not in self._known.tries:
            self._known.tries.add((index, try_number))
            self._duplicates.append(record)

    def _sort_failure(self, record: Record) -> None:
        index, try_number, status = record[0], record[1], record[3]
        if index in self._known.outcomes or (index, try_number) in self._known.tries:
            return  # told before, or late: the mini-batch has its outcome
        self._known.tries.add((index, try_number))
        error = self._errors.get((index, try_number))
        self._failures.append(self._failure(record, error))
        verdict = after_failure(
            run_max_try=self._recording._run_max_try,
            try_number=try_number,
            was_stopped=self._recording.is_stopping or status == wire.STOPPED,
        )
        match verdict:
            case Verdict.RETRY:
                self._counts.repeated_tries += 1
                self._put_back.append(Range(index, 1, try_number + 1))
            case Verdict.GIVE_UP:
                self._settle(record)
            case Verdict.LEAVE:
                pass
            case _:
                raise AssertionError(verdict)

    def _failure(self, record: Record, error: CaughtError | None) -> Failure:
        group = None
        if record[3] != wire.STOPPED:
            group = self._recording.groups.resolve(group_try(record[3], error), error)
        return Failure(record, group, error.title if error else "")

    def _settle(self, record: Record) -> None:
        self._winners.append(record)
        self._known.outcomes[record[0]] = (record[1], self._process, record[9])
        self._counts.add_outcome(record)

    def write(self, node_name: str) -> None:
        recording = self._recording
        settle_mini_batches(recording._job_number, self._process, self._winners)
        places = recording.groups.write(self._failures, self._process, node_name)
        if self._partial:
            missing = [
                Failure(record, group_partial(), "missing results") for record in self._partial
            ]
            recording.groups.write(missing, self._process, node_name)
        rows = [
            self._try_row(failure.record, failure.error, group_id)
            for failure, group_id in zip(self._failures, places, strict=True)
        ]
        rows += [self._try_row(record, "", None, wire.DUPLICATE) for record in self._duplicates]
        if rows:
            MiniBatchTry.objects.bulk_create(rows, ignore_conflicts=True)
        self._counts.duplicates += len(self._duplicates)

    def _try_row(
        self, record: Record, error: str, group_id: int | None, status: int | None = None
    ) -> MiniBatchTry:
        return MiniBatchTry(
            mini_batch=mini_batch_key(self._recording._job_number, record[0]),
            number=record[1],
            status=record[3] if status is None else status,
            process=self._process,
            items=record[4],
            started_us=record[9],
            wait_us=record[10],
            load_us=record[11],
            run_us=record[12],
            total_us=record[13],
            error_group_id=group_id,
            error=error[:1000],
        )

    def tell(self, recorded: Recorded) -> None:
        for record in self._winners:
            self._recording.retrying.pop(record[0], None)
        recorded.counts.add(self._counts)
        recorded.put_back += self._put_back
        recorded.has_errors |= bool(self._failures or self._partial)
        told: list[tuple[Record, str, str]] = [
            (failure.record, failure.category, failure.error) for failure in self._failures
        ]
        decided = {failure.record[:2] for failure in self._failures}
        told += [(one, "", "") for one in self._winners if one[:2] not in decided]
        told += [((*one[:3], wire.DUPLICATE, *one[4:]), "", "") for one in self._duplicates]
        if told:
            recorded.tries.append(
                RecordedTries(self._block.node_index, self._block.process, tries=told)
            )
        if self._winners:
            recorded.last_total_us = self._winners[-1][13]


def find_retrying(job_number: int) -> dict[int, int]:
    """Return index -> number of the last try of mini-batches that failed and have
    no outcome yet."""
    table, tries = MiniBatch._meta.db_table, MiniBatchTry._meta.db_table
    first, end = mini_batch_key(job_number, 0), mini_batch_key(job_number + 1, 0)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT mini_batch, MAX(number) FROM {tries} WHERE mini_batch >= %s"
            f" AND mini_batch < %s AND status != %s AND NOT EXISTS"
            f' (SELECT 1 FROM {table} WHERE "key" = mini_batch) GROUP BY mini_batch',
            [first, end, wire.DUPLICATE],
        )
        return {mini_batch_index(key): number for key, number in cursor.fetchall()}


def find_unrecorded(job_number: int, end: int) -> list[tuple[int, int]]:
    """Return ``(first, count)`` of the runs of mini-batches below ``end`` without an
    outcome, in order. One pass over the keys in the database itself."""
    table = MiniBatch._meta.db_table
    base = mini_batch_key(job_number, 0)
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT earlier, "key" FROM (SELECT "key",'
            f' LAG("key", 1, %s) OVER (ORDER BY "key") AS earlier FROM {table}'
            ' WHERE "key" >= %s AND "key" < %s) AS neighbours WHERE "key" - earlier > 1',
            [base - 1, base, base + end],
        )
        gaps = [(earlier + 1 - base, key - earlier - 1) for earlier, key in cursor.fetchall()]
    last = find_last_recorded(job_number)
    rest = end - (last + 1)
    return gaps + ([(last + 1, rest)] if rest > 0 else [])


def find_last_recorded(job_number: int) -> int:
    """Return the largest index with an outcome, -1 without any."""
    newest = MiniBatch.objects.of_job(job_number).order_by("-key").values_list("key", flat=True)
    key = newest.first()
    return -1 if key is None else mini_batch_index(key)


def count_tries(job_number: int) -> int:
    """Return the tries that ended: those that decided a mini-batch, and the others.
    A failed try that decided stands in both tables and is counted once."""
    table, tries = MiniBatch._meta.db_table, MiniBatchTry._meta.db_table
    bounds = [mini_batch_key(job_number, 0), mini_batch_key(job_number + 1, 0)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COUNT(*) FROM {tries} WHERE mini_batch >= %s AND mini_batch < %s"
            f' AND NOT EXISTS (SELECT 1 FROM {table} WHERE "key" = mini_batch'
            f" AND {table}.tries = {tries}.number AND {table}.process = {tries}.process)",
            bounds,
        )
        others = int(cursor.fetchone()[0])
    return MiniBatch.objects.of_job(job_number).count() + others


def median_run_seconds(job_number: int) -> float | None:
    """Return the median run() of up to 1,000 mini-batches that did not fail."""
    rows = MiniBatch.objects.of_job(job_number).exclude(state=MiniBatchState.FAILED)
    some = sorted(rows.values_list("run_us", flat=True)[:1000])
    return some[len(some) // 2] / 1e6 if some else None
