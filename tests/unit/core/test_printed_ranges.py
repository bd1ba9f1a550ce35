"""What a try printed is found by the notes beside its process's segment."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.printed_ranges import ByteRange, PrintedRanges, find_printed
from runner.harness.wire import PRINTED_RECORD


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    records = [PRINTED_RECORD.pack(number, 1, 10 * number, 10 * number + 10, 0, 0)
               for number in range(5000)]  # fmt: skip
    records.append(PRINTED_RECORD.pack(7, 2, 50_000, 50_004, 3, 9))
    torn = PRINTED_RECORD.pack(8, 2, 0, 1, 0, 1)[:-1]
    (tmp_path / "n1-process000-ab12.printed").write_bytes(b"".join(records) + torn)
    return tmp_path


def test_each_try_has_the_ranges_that_were_noted(segments: Path):
    where = {"node": "n1", "process": "process000"}

    first = find_printed(segments, index=4999, try_number=1, **where)
    second = find_printed(segments, index=7, try_number=2, **where)

    assert first == PrintedRanges(ByteRange(49_990, 50_000), None)
    assert second == PrintedRanges(ByteRange(50_000, 50_004), ByteRange(3, 9))


@pytest.mark.parametrize(
    ("node", "process", "index", "try_number"),
    [
        ("n1", "process000", 5000, 1),  # printed nothing
        ("n1", "process000", 8, 2),  # its note is not yet whole
        ("n1", "process001", 7, 1),  # another process
        ("n2", "process000", 7, 1),  # another node
        ("n*", "process000", 7, 1),  # a name is no pattern
    ],
)
def test_a_try_without_a_note_printed_nothing(
    segments: Path, node: str, process: str, index: int, try_number: int
):
    found = find_printed(
        segments, node=node, process=process, index=index, try_number=try_number
    )

    assert found is None
