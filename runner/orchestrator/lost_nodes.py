"""What becomes of the mini-batches of a node that is lost.

Its journal says what it has done, the status files of its processes what they
had started: that counts a try. What they only held goes back without one.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prsweb.jobs.models import JobProcess, MiniBatch, MiniBatchTry
from prsweb.jobs.models.mini_batch import mini_batch_index, mini_batch_key
from runner.core.journal import read_reports
from runner.core.layout import JobFolder
from runner.core.leases import Lease, Range
from runner.core.manifest import ManifestReader
from runner.harness import wire

logger = logging.getLogger(__name__)

_WORDS = struct.Struct(f"={wire.STATUS_FILE_BYTES // 8}Q")


@dataclass(frozen=True)
class Started:
    """A try that a process of the lost node was in."""

    process: int
    index: int
    try_number: int


@dataclass(frozen=True)
class Settled:
    """How the leases of a lost node end."""

    put_back: list[Range]  # without a try counted
    blocks: list[bytes]  # one NODE_LOST record each, for the recorder


def read_journal(folder: JobFolder, node: str, assignment: int) -> Iterator[bytes]:
    """Yield the reports of an assignment; none if the node kept no journal."""
    try:
        with folder.journal(node, assignment).open("rb") as file:
            yield from read_reports(file)
    except FileNotFoundError:
        return


def settle_leases(
    job_number: int,
    folder: JobFolder,
    leases: Sequence[Lease],
    *,
    node_index: int,
    assignment: int,
    now_us: int,
) -> Settled:
    """Return what of ``leases`` goes back and which tries have failed.

    Its journal must be recorded already: what has an outcome, or a failed try
    of that number, is done with.
    """
    put_back: list[Range] = []
    blocks: list[bytes] = []
    status_files = _status_files(job_number, folder, node_index)
    for lease in leases:
        started = _started(status_files.get(lease.process), lease)
        done = _done_indexes(job_number, lease.range)
        waiting = [
            index for index in range(lease.range.first, lease.range.end) if index not in done
        ]
        if started is not None and started.index in waiting:
            waiting.remove(started.index)
            blocks.append(_lost_block(folder, started, node_index, assignment, now_us))
        put_back += _as_ranges(waiting, lease.range.try_number)
    return Settled(put_back, blocks)


def _status_files(job_number: int, folder: JobFolder, node_index: int) -> dict[int, Path]:
    rows = JobProcess.objects.filter(job_id=job_number, node_index=node_index)
    return {
        number: folder.segments / f"{segment}.status"
        for number, segment in rows.values_list("number", "segment")
    }


def _started(path: Path | None, lease: Lease) -> Started | None:
    """Return the try the process was in, if it belongs to ``lease``."""
    if path is None:
        return None
    try:
        words = _WORDS.unpack(path.read_bytes()[: wire.STATUS_FILE_BYTES])
    except (OSError, struct.error):
        return None
    phase, index = words[wire.WORD_PHASE] >> 32, words[wire.WORD_PHASE] & 0xFFFFFFFF
    is_ours = lease.range.first <= index < lease.range.end
    if phase not in wire.STARTED_PHASES or not is_ours:
        return None
    if words[wire.WORD_TRY] != lease.range.try_number:
        return None
    return Started(lease.process, index, lease.range.try_number)


def _done_indexes(job_number: int, held: Range) -> set[int]:
    """Return those of a lease that have an outcome, or a failed try of that number."""
    first, end = mini_batch_key(job_number, held.first), mini_batch_key(job_number, held.end)
    rows = MiniBatch.objects.filter(key__gte=first, key__lt=end)
    done = {mini_batch_index(key) for key in rows.values_list("key", flat=True)}
    tries = MiniBatchTry.objects.filter(
        mini_batch__gte=first, mini_batch__lt=end, number__gte=held.try_number
    )
    return done | {mini_batch_index(key) for key in tries.values_list("mini_batch", flat=True)}


def _as_ranges(indexes: Iterable[int], try_number: int) -> list[Range]:
    ranges: list[Range] = []
    for index in indexes:
        if ranges and ranges[-1].end == index:
            ranges[-1] = Range(ranges[-1].first, ranges[-1].count + 1, try_number)
        else:
            ranges.append(Range(index, 1, try_number))
    return ranges


def _lost_block(
    folder: JobFolder, started: Started, node_index: int, assignment: int, now_us: int
) -> bytes:
    items = _item_count(folder, started.index)
    numbers = (started.index, started.try_number, wire.OUTCOME_TRY_FAILED, wire.NODE_LOST)
    record = (*numbers, items, 0, 0, 0, 0, now_us, 0, 0, 0, 0)
    return wire.pack_block(assignment, node_index, started.process, [record], [])


def _item_count(folder: JobFolder, index: int) -> int:
    """Return the items of a mini-batch; 1 where they are not known."""
    try:
        with ManifestReader(folder) as manifest:
            return manifest.read(index).item_count or 1
    except (OSError, IndexError):
        return 1
