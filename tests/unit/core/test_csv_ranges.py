"""Text tables are cut at the ends of records, also where quotes hold line feeds."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core import csv_ranges
from runner.core.csv_ranges import RecordRange, cut_records, cut_windows
from runner.core.partition import TableSize

FIELD = st.text(alphabet='ab,"\n\r ', max_size=6)
ROWS = st.lists(st.lists(FIELD, min_size=2, max_size=2), max_size=30)


def as_csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def cut(data: bytes, size: TableSize, *, header: bool = False) -> list[RecordRange]:
    return list(cut_records(io.BytesIO(data), size, skip_header=header))


def rows_of(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


@given(ROWS, st.integers(1, 60), st.integers(1, 8))
def test_ranges_hold_whole_records_each_of_them_once(
    rows: list[list[str]], size_bytes: int, read_bytes: int
) -> None:
    data = as_csv(rows)
    old, csv_ranges.READ_BYTES = csv_ranges.READ_BYTES, read_bytes

    try:
        ranges = cut(data, TableSize(byte_count=size_bytes))
    finally:
        csv_ranges.READ_BYTES = old

    parts = [rows_of(data[one.start : one.end]) for one in ranges]
    assert [row for part in parts for row in part] == rows
    assert [len(part) for part in parts] == [one.record_count for one in ranges]
    for one in ranges:
        assert one.end - one.start <= size_bytes or one.record_count == 1


@given(ROWS, st.integers(1, 9))
def test_by_rows_each_range_has_exactly_that_many(rows: list[list[str]], count: int) -> None:
    data = as_csv([["h", "h"], *rows])

    ranges = cut(data, TableSize(row_count=count), header=True)

    assert all(one.record_count == count for one in ranges[:-1])
    assert sum(one.record_count for one in ranges) == len(rows)


def test_a_range_is_closed_before_the_record_that_makes_it_too_large() -> None:
    data = b"h\n" + b"1234567\n" * 5

    ranges = cut(data, TableSize(byte_count=17), header=True)

    assert [(one.start, one.end, one.record_count) for one in ranges] == [
        (2, 18, 2),
        (18, 34, 2),
        (34, 42, 1),
    ]


@pytest.mark.parametrize("data", [b"", b"a,b\n", b"a,b", b"a,b\n\n\n", b'"a\nb",c\n'], ids=repr)
def test_a_file_without_rows_adds_no_range(data: bytes) -> None:
    assert cut(data, TableSize(byte_count=10), header=True) == []


def test_a_last_record_without_a_line_feed_counts() -> None:
    assert cut(b"a,b\n1,2\n3,4", TableSize(byte_count=100), header=True) == [
        RecordRange(4, 11, 2)
    ]


def test_blank_lines_are_no_records() -> None:
    (one,) = cut(b"1\n\n2\n\r\n3\n", TableSize(byte_count=100))

    assert one.record_count == 3


def test_a_record_larger_than_the_size_stands_alone() -> None:
    long = b'"' + b"x\n" * 50 + b'"\n'

    ranges = cut(b"1\n" + long + b"2\n", TableSize(byte_count=10))

    assert [one.record_count for one in ranges] == [1, 1, 1]
    assert ranges[1].end - ranges[1].start == len(long)


def test_windows_cover_the_file_without_a_look_at_it() -> None:
    assert list(cut_windows(25, 10, start=3)) == [(3, 13), (13, 23), (23, 25)]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_what_an_unclosed_quote_begins_is_a_record_too(end: bytes) -> None:
    data = b"a,b\n1,2\n" + b'"3,4\n5,6' + end

    ranges = cut(data, TableSize(byte_count=4), header=True)

    assert [(one.start, one.end, one.record_count) for one in ranges] == [
        (4, 8, 1),
        (8, len(data), 1),
    ]
