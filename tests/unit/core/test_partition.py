"""Files are cut so that every one is in exactly one mini-batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core.partition import BadSize, cut_files, parse_file_size, parse_table_size


@given(st.integers(0, 200), st.integers(1, 50))
def test_every_file_is_in_exactly_one_mini_batch_in_order(count: int, size: int) -> None:
    files = [f"/in/{number:04d}".encode() for number in range(count)]

    parts = list(cut_files(iter(files), size))

    assert [path for part in parts for path in part] == files
    assert all(len(part) == size for part in parts[:-1])
    assert all(parts)


@pytest.mark.parametrize(
    ("size", "expected"), [(None, 10), (1, 1), (20, 20), ("7", 7)], ids=str
)
def test_a_number_of_files_is_read(size: int | str | None, expected: int) -> None:
    assert parse_file_size(size) == expected


@pytest.mark.parametrize("size", [0, -3, "0", "10MB", ""], ids=repr)
def test_what_is_no_number_of_files_is_refused_with_what_was_found(size: int | str) -> None:
    with pytest.raises(BadSize, match="mini_batch_size"):
        parse_file_size(size)


@pytest.mark.parametrize(
    ("size", "bytes_", "rows"),
    [
        (None, 1024**2, None),
        ("20", 20, None),
        ("10kb", 10 * 1024, None),
        ("3GB", 3 * 1024**3, None),
        ("20rows", None, 20),
    ],
)
def test_the_size_of_a_table_counts_bytes_or_rows(
    size: str | None, bytes_: int | None, rows: int | None
) -> None:
    parsed = parse_table_size(size)

    assert (parsed.byte_count, parsed.row_count) == (bytes_, rows)


@pytest.mark.parametrize("size", ["10kbmb", "10 kb", "10k", "1.5mb", "", "0"])
def test_other_sizes_of_a_table_are_refused(size: str) -> None:
    with pytest.raises(BadSize):
        parse_table_size(size)
