from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.core.output_columns import SegmentColumns, header_line, unite
from runner.core.output_layout import Piece, merge_neighbours


def test_neighbours_in_one_segment_become_one_piece() -> None:
    ranges = [(1, 0, 10), (1, 10, 5), (2, 0, 4), (1, 15, 5), (1, 30, 1)]

    assert list(merge_neighbours(ranges)) == [
        Piece(1, 0, 15),
        Piece(2, 0, 4),
        Piece(1, 15, 5),
        Piece(1, 30, 1),
    ]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9))))
def test_the_bytes_and_their_order_stay_the_same(ranges: list[tuple[int, int, int]]) -> None:
    def expand(pieces: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
        return [(who, at + n) for who, at, length in pieces for n in range(length)]

    assert expand(list(merge_neighbours(ranges))) == expand(ranges)


def test_columns_are_found_by_offset() -> None:
    columns = SegmentColumns(
        '{"offset": 0, "columns": ["a"]}\n{"offset": 9, "columns": null}\nto'
    )

    assert columns.at(0) == ("a",)
    assert columns.at(8) == ("a",)
    assert columns.at(9) is None
    assert SegmentColumns("").at(5) is None


def test_the_header_is_the_union_in_order_of_appearance() -> None:
    assert unite(("a", "b"), ("b", "c")) == ("a", "b", "c")
    assert header_line(("a", "b c"), separator=" ") == 'a "b c"\n'
