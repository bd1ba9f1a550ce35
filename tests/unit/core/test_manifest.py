"""The manifest is read while it is written, and gone on with after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.layout import JobFolder
from runner.core.manifest import ManifestReader, ManifestWriter, TableRange, count_items


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path)


def write(folder: JobFolder, first: int, end: int) -> None:
    writer = ManifestWriter(folder)
    for number in range(first, end):
        writer.append_paths([f"/in/{number}-{n}".encode() for n in range(3)], 0)
    writer.close()


def test_what_was_written_is_read_back(folder: JobFolder) -> None:
    write(folder, 0, 10)

    with ManifestReader(folder) as manifest:
        assert len(manifest) == 10
        assert manifest.read(0).paths() == ["/in/0-0", "/in/0-1", "/in/0-2"]
        assert [one.index for one in manifest.read_range(7, 100)] == [7, 8, 9]
        assert manifest.read(9).item_names(2) == ["/in/9-0", "/in/9-1"]
        with pytest.raises(IndexError):
            manifest.read(10)


def test_a_reader_sees_what_is_appended_later(folder: JobFolder) -> None:
    writer = ManifestWriter(folder)
    writer.append_paths([b"/a"], 0)
    writer.flush()

    with ManifestReader(folder) as manifest:
        writer.append_paths([b"/b"], 0)
        writer.flush()

        assert manifest.read(1).paths() == ["/b"]
    writer.close()


def test_a_half_written_mini_batch_is_cut_off(folder: JobFolder) -> None:
    write(folder, 0, 5)
    with folder.manifest_index.open("ab") as index:
        index.write(b"torn")
    with folder.manifest_items.open("ab") as items:
        items.write(b"/in/half")

    write(folder, 5, 8)

    with ManifestReader(folder) as manifest:
        assert len(manifest) == 8
        assert manifest.read(5).paths() == ["/in/5-0", "/in/5-1", "/in/5-2"]


def test_names_that_are_no_utf8_survive(folder: JobFolder) -> None:
    writer = ManifestWriter(folder)
    writer.append_paths([b"/in/\xff"], 0)
    writer.close()

    with ManifestReader(folder) as manifest:
        assert manifest.read(0).paths() == ["/in/\udcff"]


def test_a_range_of_a_table_and_unknown_items(folder: JobFolder) -> None:
    writer = ManifestWriter(folder)
    writer.append(TableRange("/in/a.csv", 4, 90).to_entry(), None, 1)
    writer.append(TableRange("/in/a.csv", 90, 95).to_entry(), 2, 1)
    writer.close()

    with ManifestReader(folder) as manifest:
        entry = manifest.read(0)
    assert entry.table_range() == {"path": "/in/a.csv", "start": 4, "end": 90}
    assert (entry.item_count, entry.input_number) == (None, 1)
    assert count_items(folder) == (2, 2)
