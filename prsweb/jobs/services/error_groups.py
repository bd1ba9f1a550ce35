"""Error groups of one job, kept by its master while it records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Min

from prsweb.jobs.models import ErrorGroup, Job, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_key
from runner.core.blocks import Record
from runner.core.error_groups import CaughtError, Group
from runner.core.outcome import DominantGroup

MOST_SAMPLES = 10
MOST_KEPT = 1000  # groups and digests held in memory


@dataclass(frozen=True)
class Failure:
    """One failed try, its group (None: it counts nowhere), and its error in a line."""

    record: Record
    group: Group | None
    error: str

    @property
    def category(self) -> str:
        """Return the word for the report file: the kind of its group."""
        return self.group.kind if self.group else ""


class GroupBook:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._rows: dict[str, ErrorGroup] = {}
        self._by_digest: dict[str, Group] = {}  # a repeated error comes without its frames

    def resolve(self, group: Group, error: CaughtError | None) -> Group:
        """Return ``group``, or the one that an equal error, told in full, belongs to."""
        if error is None or not error.digest:
            return group
        if error.frames or error.digest not in self._by_digest:
            if len(self._by_digest) >= MOST_KEPT:
                self._by_digest.clear()
            self._by_digest[error.digest] = group
        return self._by_digest[error.digest]

    def count(self) -> int:
        return ErrorGroup.objects.filter(job=self._job).count()

    def write(
        self, failures: Sequence[Failure], process: int, node_name: str
    ) -> list[int | None]:
        """Count the failures in their groups; return the row id of each one's group."""
        by_group: dict[str, list[Failure]] = {}
        for failure in failures:
            if failure.group is not None:
                by_group.setdefault(failure.group.fingerprint, []).append(failure)
        ids = {
            fingerprint: self._add(some, process, node_name)
            for fingerprint, some in by_group.items()
        }
        return [ids[one.group.fingerprint] if one.group else None for one in failures]

    def note_init(self, group: Group, *, process: int, node_name: str, at: datetime) -> None:
        """Count one failed init(); it belongs to no mini-batch."""
        row = self._row(group, at)
        row.count += 1
        row.last_at = max(row.last_at, at)
        _add_name(row, node_name)
        if row.first_process is None:
            row.first_process = process
        row.save(update_fields=["count", "last_at", "nodes", "first_process"])
        Job.objects.filter(pk=self._job.pk).update(error_group_count=self.count())

    def _add(self, failures: Sequence[Failure], process: int, node_name: str) -> int:
        """Count failures of one group; return its row's id."""
        group, first = failures[0].group, failures[0].record
        assert group is not None
        row = self._row(group, _started(first))
        indexes = {failure.record[0] for failure in failures}
        row.count += len(failures)
        row.mini_batch_count += len(indexes - self._known_in(row, failures))
        row.last_at = max(row.last_at, *(_started(one.record) for one in failures))
        _add_name(row, node_name)
        if row.first_mini_batch is None and row.first_process is None:
            row.first_mini_batch, row.first_try = first[0], first[1]
            row.first_process = process
        room = MOST_SAMPLES - len(row.sample_mini_batches)
        fresh = sorted(indexes.difference(row.sample_mini_batches))
        row.sample_mini_batches = [*row.sample_mini_batches, *fresh[: max(0, room)]]
        row.save()
        return int(row.pk)

    def _known_in(self, row: ErrorGroup, failures: Sequence[Failure]) -> set[int]:
        """Return the mini-batches that failed in this group before."""
        again = [one.record[0] for one in failures if one.record[1] > 1]
        if not again:
            return set()
        keys = {mini_batch_key(self._job.pk, index): index for index in again}
        known = MiniBatchTry.objects.filter(error_group=row, mini_batch__in=list(keys))
        return {keys[key] for key in known.values_list("mini_batch", flat=True)}

    def _row(self, group: Group, at: datetime) -> ErrorGroup:
        row = self._rows.get(group.fingerprint)
        if row is None:
            row, _ = ErrorGroup.objects.get_or_create(
                job=self._job,
                fingerprint=group.fingerprint,
                defaults={
                    "kind": group.kind,
                    "title": group.title,
                    "pattern": group.pattern,
                    "place": group.place[:400],
                    "traceback": group.traceback,
                    "first_at": at,
                    "last_at": at,
                },
            )
            if len(self._rows) >= MOST_KEPT:
                self._rows.clear()
            self._rows[group.fingerprint] = row
        if not row.traceback and group.traceback:
            row.traceback = group.traceback
        return row

    def forget(self) -> None:
        """Read the rows again: a transaction was rolled back."""
        self._rows.clear()


def find_dominant(job: Job) -> DominantGroup | None:
    """Return the group with at least half of the failed tries, init() included."""
    groups = list(ErrorGroup.objects.filter(job=job).order_by("-count")[:1])
    failed = count_failed_tries(job)
    if not groups or 2 * groups[0].count < failed:
        return None
    largest = groups[0]
    status = largest.tries.aggregate(first=Min("status"))["first"]
    return DominantGroup(
        fingerprint=largest.fingerprint,
        kind=largest.kind,
        title=largest.title,
        place=largest.place,
        count=largest.count,
        failed_tries=failed,
        status=status,
    )


def count_failed_tries(job: Job) -> int:
    """Return the failed tries of the job, a failed init() counts as one."""
    counts: Iterable[int] = ErrorGroup.objects.filter(job=job).values_list("count", flat=True)
    return sum(counts)


def _started(record: Record) -> datetime:
    return datetime.fromtimestamp(record[9] / 1e6, UTC)


def _add_name(row: ErrorGroup, node_name: str) -> None:
    if node_name and node_name not in row.nodes:
        row.nodes = [*row.nodes, node_name]
