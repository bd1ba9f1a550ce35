"""Paths from outside never leave their root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.core.safe_path import UnsafePath, is_below, open_inside, resolve_inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("outside")
    return folder


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "..",
        "../secret.txt",
        "sub/../../secret.txt",
        "sub/../file.txt",
        "/etc/passwd",
        "a\0b",
        "sub/" + "x" * 5_000,
    ],
)
def test_a_path_that_could_leave_is_refused(root, hostile):
    with pytest.raises(UnsafePath):
        resolve_inside(root, hostile)


def test_encoded_dots_are_an_ordinary_name(root):
    assert resolve_inside(root, "%2e%2e/x") == root.resolve() / "%2e%2e" / "x"


def test_a_link_that_leaves_is_refused_and_one_that_stays_is_followed(root):
    (root / "out").symlink_to("../secret.txt")
    (root / "newest.txt").symlink_to("sub/file.txt")

    with pytest.raises(UnsafePath):
        open_inside(root, "out")
    with open_inside(root, "newest.txt") as file:
        assert file.read() == b"inside"


def test_a_loop_of_links_is_refused(root):
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")

    with pytest.raises(UnsafePath):
        open_inside(root, "a")


def test_a_folder_and_a_pipe_are_no_files(root):
    os.mkfifo(root / "pipe")

    for name in ("sub", "pipe", "."):
        with pytest.raises(UnsafePath):
            open_inside(root, name)


def test_a_link_put_in_after_the_look_is_not_followed(root, monkeypatch):
    looked = resolve_inside(root, "sub/file.txt")
    monkeypatch.setattr("runner.core.safe_path.resolve_inside", lambda *_: looked)
    (root / "sub" / "file.txt").unlink()
    (root / "sub" / "file.txt").symlink_to(root.parent / "secret.txt")

    with pytest.raises(UnsafePath):
        open_inside(root, "sub/file.txt")


def test_a_root_and_what_lies_below_it_are_inside_and_a_name_alike_is_not(root):
    (root / "out").symlink_to(root.parent)

    assert is_below(root, [root])
    assert is_below(root / "sub" / "file.txt", [root])
    assert not is_below(root.parent / "root2", [root])
    assert not is_below(root / "out" / "secret.txt", [root])
