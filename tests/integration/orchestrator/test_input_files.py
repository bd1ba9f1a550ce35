"""Folders, globs and lists become one stream of files, in byte order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.orchestrator.input_files import InputUnreadable, list_files


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def listed(root: Path, *paths: str, allowed: bool = True) -> list[str]:
    found = list_files([str(root / path) for path in paths], is_allowed=lambda _: allowed)
    return [os.fsdecode(path).removeprefix(f"{root}/") for path in found]


def test_a_folder_is_walked_in_the_byte_order_of_whole_paths(tmp_path: Path) -> None:
    make(tmp_path, "a/x", "a.txt", "a-b", "B", "é", "a/b/c", "ab")

    found = listed(tmp_path, "")

    assert found == sorted(found, key=os.fsencode)
    assert set(found) == {"a/x", "a.txt", "a-b", "B", "é", "a/b/c", "ab"}


def test_names_that_begin_with_a_dot_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, ".hidden", ".git/x", "seen")

    assert listed(tmp_path, "") == ["seen"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["a.txt", "b.txt"]),
        ("?.txt", ["a.txt", "b.txt"]),
        ("[a].txt", ["a.txt"]),
        ("[!a].txt", ["b.txt"]),
        ("*/*.txt", ["d/c.txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "d/c.txt", "d/e/f.txt"]),
        ("d/**", ["d/c.txt", "d/e/f.txt"]),
        ("*.csv", []),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    make(tmp_path, "a.txt", "b.txt", "d/c.txt", "d/e/f.txt", "z.bin")

    assert listed(tmp_path, pattern) == expected


def test_a_list_keeps_its_own_order_and_its_repetitions(tmp_path: Path) -> None:
    make(tmp_path, "b", "a", "d/x")

    assert listed(tmp_path, "b", "d", "a", "b") == ["b", "d/x", "a", "b"]


def test_links_are_followed_where_that_is_allowed_and_loops_are_cut(tmp_path: Path) -> None:
    make(tmp_path, "data/x", "elsewhere/y")
    (tmp_path / "data/more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data/self").symlink_to(tmp_path / "data")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "elsewhere")

    assert listed(tmp_path, "data") == ["data/more/y", "data/x"]
    assert listed(tmp_path, "data", allowed=False) == ["data/x"]


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputUnreadable, match="nowhere: no such file or folder"):
        listed(tmp_path, "nowhere")


def test_what_this_version_cannot_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputUnreadable, match="s3://bucket/x"):
        list(list_files(["s3://bucket/x"], is_allowed=lambda _: True))


def test_pipes_and_sockets_are_no_items(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")

    assert listed(tmp_path, "") == ["a.txt"]
    with pytest.raises(InputUnreadable, match="is neither a file nor a folder"):
        listed(tmp_path, "pipe")


def test_a_link_to_nothing_is_an_item_so_that_its_reader_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "gone")

    assert listed(tmp_path, "") == ["broken"]
    assert listed(tmp_path, "broken") == ["broken"]
