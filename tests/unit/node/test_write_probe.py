from __future__ import annotations

from pathlib import Path

from runner.node.write_probe import describe_writing


def test_a_folder_that_takes_a_write_is_told_with_its_room(tmp_path: Path) -> None:
    assert describe_writing(tmp_path).startswith(f"{tmp_path}, where ")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_told_as_the_system_says_it(tmp_path: Path) -> None:
    assert describe_writing(tmp_path / "gone") == (
        f"{tmp_path / 'gone'}: No such file or directory"
    )
