"""The first mini-batch has 1 item, the second 2, further ones the job's size."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from runner.core.layout import JobFolder
from runner.core.manifest import ManifestEntry, ManifestReader
from runner.core.run_settings import StepSettings
from runner.orchestrator.input_files import InputUnreadable
from runner.trial.first_mini_batches import write_first_mini_batches


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "job")


def cut(folder: JobFolder, count: int, spec: dict[str, Any]) -> list[ManifestEntry]:
    """Return the mini-batches as the manifest holds them."""
    made = write_first_mini_batches(StepSettings.from_spec(spec), folder, count)
    with ManifestReader(folder) as reader:
        assert len(reader) == made
        return reader.read_range(0, made)


def files(place: Path, count: int) -> dict[str, Any]:
    """Return an input of so many files."""
    place.mkdir()
    for number in range(count):
        (place / f"{number:02d}.txt").touch()
    return {"name": place.name, "type": "files", "path": str(place)}


def table(*paths: Path) -> dict[str, Any]:
    return {"name": "rows", "type": "table", "path": [str(path) for path in paths]}


def content(entry: ManifestEntry) -> str:
    where = entry.table_range()
    return Path(where["path"]).read_bytes()[where["start"] : where["end"]].decode()


def test_files_come_as_one_as_two_and_then_as_many_as_the_job_has_it(
    folder: JobFolder, tmp_path: Path
) -> None:
    spec = {"inputs": [files(tmp_path / "scans", 12)], "mini_batch_size": 4}

    entries = cut(folder, 4, spec)

    assert [entry.item_count for entry in entries] == [1, 2, 4, 4]
    names = [Path(path).name for entry in entries for path in entry.paths()]
    assert names == [f"{number:02d}.txt" for number in range(11)]


def test_an_input_that_ends_early_gives_fewer(folder: JobFolder, tmp_path: Path) -> None:
    entries = cut(folder, 5, {"inputs": [files(tmp_path / "scans", 2)]})

    assert [entry.item_count for entry in entries] == [1, 1]


def test_the_count_goes_on_over_several_inputs(folder: JobFolder, tmp_path: Path) -> None:
    inputs = [files(tmp_path / "one", 1), files(tmp_path / "two", 9)]

    entries = cut(folder, 3, {"inputs": inputs, "mini_batch_size": 3})

    assert [(entry.item_count, entry.input_number) for entry in entries] == [
        (1, 0),
        (2, 1),
        (3, 1),
    ]


def test_rows_of_a_table_are_counted_the_same_way(folder: JobFolder, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n2,z\n3,z\n4,z\n5,z\n6,z\n7,z\n')

    entries = cut(folder, 9, {"inputs": [table(path)], "mini_batch_size": "3rows"})

    assert [entry.item_count for entry in entries] == [1, 2, 3, 1]
    assert content(entries[0]) == '1,"x\ny"\n'
    assert content(entries[1]) == "2,z\n3,z\n"


def test_a_size_in_bytes_holds_from_the_third_on(folder: JobFolder, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "1234567\n" * 10)

    entries = cut(folder, 4, {"inputs": [table(path)], "mini_batch_size": 25})

    assert [entry.item_count for entry in entries] == [1, 2, 3, 3]


def test_no_mini_batch_crosses_the_border_of_a_file(folder: JobFolder, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a\n1\n2\n")
    second.write_text("a\n3\n4\n")

    entries = cut(folder, 9, {"inputs": [table(first, second)]})

    assert [content(entry) for entry in entries] == ["1\n", "2\n", "3\n4\n"]


def test_a_packed_table_is_one_mini_batch_as_in_a_job(
    folder: JobFolder, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n2\n"))

    entries = cut(folder, 2, {"inputs": [table(path)]})

    assert [entry.item_count for entry in entries] == [None]


def test_inline_rows_and_ranks_are_cut_too(folder: JobFolder, tmp_path: Path) -> None:
    rows = {"name": "rows", "type": "table", "rows": [{"a": number} for number in range(4)]}

    of_rows = cut(folder, 2, {"inputs": [rows]})
    of_ranks = cut(JobFolder(tmp_path / "ranks"), 2, {"rank_mini_batch_count": 5})

    assert [content(entry) for entry in of_rows] == ['{"a": 0}\n', '{"a": 1}\n{"a": 2}\n']
    assert [entry.item_count for entry in of_ranks] == [1, 1]


def test_an_input_that_is_not_there_is_named(folder: JobFolder) -> None:
    spec = {"inputs": [{"name": "scans", "type": "files", "path": "/no/such/folder"}]}

    with pytest.raises(InputUnreadable, match="/no/such/folder"):
        write_first_mini_batches(StepSettings.from_spec(spec), folder, 2)
