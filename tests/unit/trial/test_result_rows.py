"""Rows are read out of a segment by their place, with the columns noted for it."""

from __future__ import annotations

from pathlib import Path

from runner.trial.result_rows import read_columns, read_rows


def test_the_lines_of_a_range_are_given(tmp_path: Path) -> None:
    segment = tmp_path / "segment"
    segment.write_bytes(b"before\none\n\ntwo\nafter\n")

    assert read_rows(segment, 7, 9) == ("one", "", "two")
    assert read_rows(tmp_path / "none was made", 0, 0) == ()


def test_columns_are_those_noted_last_before_the_rows(tmp_path: Path) -> None:
    segment = tmp_path / "segment"
    notes = segment.with_name("segment.columns")
    notes.write_text('{"offset": 0, "columns": ["a", "b"]}\n{"offset": 9, "columns": null}\n')

    assert read_columns(segment, 5) == ("a", "b")
    assert read_columns(segment, 9) is None
    assert read_columns(tmp_path / "other", 0) is None
