"""A block of try records, as it comes from a worker process. Pure.

Reading costs a fraction of a microsecond per record: nothing here loops over
records in Python but what ``struct`` and ``zip`` do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from runner.core.error_groups import CaughtError
from runner.core.messages import MalformedMessage
from runner.harness.wire import (
    BLOCK_HEAD,
    BLOCK_MAGIC,
    OUTCOME_PARTIAL,
    OUTCOME_SUCCEEDED,
    RECORD,
)

# index, try, outcome, status, items, succeeded, results, offset, length,
# started_us, wait_us, load_us, run_us, total_us
Record = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int]
FINAL_OUTCOMES = frozenset({OUTCOME_SUCCEEDED, OUTCOME_PARTIAL})

# The same record, of which only index, outcome, items, succeeded and results are read.
_COUNTS = Struct("<I4xBxIII56x")
assert _COUNTS.size == RECORD.size


@dataclass(frozen=True)
class BlockCounts:
    """Sums over the records of a block whose every record is a final outcome."""

    succeeded: int
    partial: int
    items: int
    succeeded_items: int
    results: int
    indexes: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    is_all_final: bool
    assignment: int
    node_index: int
    process: int
    record_count: int
    body: bytes
    errors_part: bytes

    def records(self) -> Iterator[Record]:
        return RECORD.iter_unpack(self.body)

    def last_record(self) -> Record:
        """Return the newest record of a block that is not empty."""
        start = len(self.body) - RECORD.size
        return RECORD.unpack_from(self.body, start)

    def counts(self) -> BlockCounts:
        """Return the sums of a block that is not empty."""
        indexes, outcomes, items, succeeded, results = zip(
            *_COUNTS.iter_unpack(self.body), strict=True
        )
        partial = outcomes.count(OUTCOME_PARTIAL)
        return BlockCounts(
            succeeded=len(outcomes) - partial,
            partial=partial,
            items=sum(items),
            succeeded_items=sum(succeeded),
            results=sum(results),
            indexes=indexes,
        )

    def errors(self) -> dict[tuple[int, int], CaughtError]:
        """Return the errors by mini-batch and try; an unreadable part gives none."""
        if not self.errors_part:
            return {}
        try:
            raw = json.loads(self.errors_part)
        except ValueError:
            return {}
        return {
            (int(one["index"]), int(one["try"])): CaughtError.from_wire(one)
            for one in raw
            if isinstance(one, dict) and isinstance(one.get("index"), int)
        }


def is_block(report: bytes) -> bool:
    return report.startswith(BLOCK_MAGIC)


def count_records(report: bytes) -> int:
    """Return how many records a report holds; 0 for what is no block."""
    if not is_block(report) or len(report) < BLOCK_HEAD.size:
        return 0
    return int(BLOCK_HEAD.unpack_from(report)[5])


def parse_block(report: bytes) -> Block:
    """Return the block, or raise MalformedMessage when its lengths do not fit."""
    if len(report) < BLOCK_HEAD.size:
        raise MalformedMessage(f"block of {len(report)} bytes")
    head = BLOCK_HEAD.unpack_from(report)
    magic, all_final, assignment, node_index, process, record_count, errors_length = head
    end = BLOCK_HEAD.size + record_count * RECORD.size
    if magic != BLOCK_MAGIC or len(report) != end + errors_length:
        raise MalformedMessage(f"block of {len(report)} bytes, {record_count} records")
    return Block(
        is_all_final=bool(all_final),
        assignment=assignment,
        node_index=node_index,
        process=process,
        record_count=record_count,
        body=report[BLOCK_HEAD.size : end],
        errors_part=report[end:],
    )
