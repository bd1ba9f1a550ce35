"""The record of a try whose process can no longer report it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.core.wire_format import wire
from runner.node.clocks import PhaseWords


@dataclass(frozen=True)
class Failure:
    """Why a try failed."""

    status: int  # wire.PROCESS_DIED, …
    kind: str  # the error group: "signal:11", "exit:3", "timeout:run_invocation_timeout", "oom"
    title: str  # the same in words, equal for all failures of the group
    detail: str  # a sentence about this one


@dataclass(frozen=True)
class Place:
    """Who reports: the numbers at the head of a block."""

    assignment: int
    node_index: int
    process: int


def pack_failed_try(
    place: Place, words: PhaseWords, failure: Failure, *, items: int, now: float, now_ns: int
) -> bytes:
    """Return a block with one record and its error for the mini-batch in ``words``.

    ``now`` is in seconds since 1970, ``now_ns`` the same moment on the monotonic
    clock. Times before the present phase are not known and count as 0.
    """
    spent_us = max(0, now_ns - words.since_ns) // 1000
    load_us = spent_us if words.phase == wire.PHASE_LOAD else 0
    run_us = spent_us if words.phase == wire.PHASE_RUN else 0
    record = (
        words.mini_batch,
        words.try_number,
        wire.OUTCOME_TRY_FAILED,
        failure.status,
        items,
        0,  # succeeded
        0,  # results
        0,  # offset
        0,  # length
        int(now * 1e6) - spent_us,
        0,  # wait
        load_us,
        run_us,
        spent_us,
    )
    error = describe_error(words, failure)
    return wire.pack_block(place.assignment, place.node_index, place.process, [record], [error])


def describe_error(words: PhaseWords, failure: Failure) -> dict[str, Any]:
    """Return the failure in the form that errors have on the wire."""
    return {
        "index": words.mini_batch,
        "try": words.try_number,
        "kind": failure.kind,
        "types": [],
        "message": failure.title,
        "frames": [],
        "traceback": failure.detail,
        "digest": hashlib.sha256(failure.kind.encode()).hexdigest()[:16],
    }


def read_item_count(manifest_index: Path, mini_batch: int) -> int:
    """Return how many items the mini-batch has; 1 when nobody knows, as a
    mini-batch that cannot be read counts as one item."""
    size = wire.MANIFEST_INDEX_RECORD.size
    try:
        with manifest_index.open("rb") as index:
            index.seek(mini_batch * size)
            record = index.read(size)
    except OSError:
        return 1
    if len(record) < size:
        return 1
    count = int(wire.MANIFEST_INDEX_RECORD.unpack(record)[1])
    return 1 if count == wire.UNKNOWN_ITEMS else count
