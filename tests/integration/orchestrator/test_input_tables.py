from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from runner.core.manifest import TableRange
from runner.core.partition import TableSize
from runner.orchestrator.input_files import InputUnreadable
from runner.orchestrator.input_tables import CutRange, cut_tables


def cut(paths: list[Path], size: TableSize, **options: object) -> list[CutRange]:
    return list(cut_tables([os.fsencode(path) for path in paths], options, size))


def test_no_mini_batch_crosses_the_border_of_a_file(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("x\n" + "123\n" * 5)

    ranges = cut(files, TableSize(byte_count=12))

    assert [(one.range.path[-5:], one.record_count) for one in ranges] == [
        ("a.csv", 3),
        ("a.csv", 2),
        ("b.csv", 3),
        ("b.csv", 2),
    ]


def test_only_the_first_file_has_a_header_when_that_is_said(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("1\n2\n")

    ranges = cut(files, TableSize(byte_count=100), header="first_file")

    assert [one.record_count for one in ranges] == [1, 2]


def test_json_lines_have_no_header_and_no_quotes(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": "\\""}\n{"a": 2}\n')

    assert [one.record_count for one in cut([file], TableSize(row_count=1))] == [1, 1]


def test_without_quoted_newlines_nothing_is_scanned(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x\n" + "1234567\n" * 10)

    ranges = cut([file], TableSize(byte_count=30), quoted_newlines=False)

    assert [(one.range.start, one.range.end) for one in ranges] == [(2, 32), (32, 62), (62, 82)]
    assert {one.record_count for one in ranges} == {None}


def test_compressed_text_is_one_mini_batch(tmp_path: Path) -> None:
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(b"x\n1\n2\n"))

    (one,) = cut([file], TableSize(byte_count=1))

    assert (one.range.start, one.range.end) == (0, file.stat().st_size)


def test_a_file_with_a_header_only_adds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x,y\n")

    assert cut([file], TableSize(byte_count=10)) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "iso-2022-jp", "utf-7", "cp037"])
def test_text_whose_bytes_tell_no_line_ends_is_one_mini_batch(
    tmp_path: Path, encoding: str
) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("a,b\n1,2\n3,4\n".encode(encoding))

    (one,) = cut([file], TableSize(row_count=1), encoding=encoding)

    assert one.record_count is None
    assert one.range == TableRange(str(file), 0, file.stat().st_size, is_whole=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "shift_jis", "gb18030"])
def test_text_with_plain_line_ends_is_cut(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("a,b\n1,2\n3,4\n".encode(encoding))

    assert len(cut([file], TableSize(row_count=1), encoding=encoding)) == 2


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.zst"])
def test_what_is_not_read_yet_is_said_before_anything_runs(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"PAR1")

    with pytest.raises(InputUnreadable, match="cannot be read yet"):
        cut([file], TableSize(row_count=1))
