from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Load = Callable[[str, str], ModuleType]

IMAGE_COUNT = 1797


@pytest.fixture
def prepare(load_script: Load) -> ModuleType:
    return load_script("digits", "prepare")


@pytest.fixture
def images(prepare: ModuleType, tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    prepare.prepare_images(folder)
    return folder


def times_of_change(folder: Path) -> list[int]:
    return [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]


def in_mini_batches(folder: Path, size: int) -> list[list[str]]:
    paths = sorted(map(str, folder.iterdir()))
    return [paths[start : start + size] for start in range(0, len(paths), size)]


def test_an_image_is_read_as_it_was_written(
    prepare: ModuleType, load_script: Load, tmp_path: Path
) -> None:
    pixels = bytes(range(0, 256, 4))
    path = tmp_path / "image.png"
    path.write_bytes(prepare.encode_png(pixels))

    read = load_script("digits", "grey_png").read_grey_png(path)

    assert read.shape == (8, 8)
    assert read.tobytes() == pixels


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda png: b"GIF89a", "does not begin as a PNG"),
        (lambda png: png[:40], "ends within a chunk"),
        (lambda png: png[:45] + b"\x00" + png[46:], "checksum"),
        (lambda png: png[:8] + png[33:], "has no header"),
    ],
)
def test_a_damaged_image_is_named_with_what_is_wrong(
    prepare: ModuleType,
    load_script: Load,
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    told: str,
) -> None:
    grey_png = load_script("digits", "grey_png")
    path = tmp_path / "image.png"
    path.write_bytes(damage(prepare.encode_png(bytes(range(64)))))

    with pytest.raises(grey_png.NotAGreyPng, match=rf"image\.png: .*{told}"):
        grey_png.read_grey_png(path)


def test_all_images_are_written_under_names_that_sort_as_the_table(images: Path) -> None:
    names = sorted(path.name for path in images.iterdir())

    assert names == [f"digit-{number:04d}.png" for number in range(IMAGE_COUNT)]


def test_a_complete_folder_is_left_as_it_is(prepare: ModuleType, images: Path) -> None:
    before = times_of_change(images)

    was_written = prepare.prepare_images(images)

    assert not was_written
    assert times_of_change(images) == before


@pytest.mark.parametrize("harm", ["missing", "torn", "foreign"])
def test_a_folder_that_is_not_as_it_should_be_is_written_anew(
    prepare: ModuleType, images: Path, harm: str
) -> None:
    victim = images / "digit-0100.png"
    whole = victim.read_bytes()
    match harm:
        case "missing":
            victim.unlink()
        case "torn":
            victim.write_bytes(whole[:20])
        case _:
            (images / "digit-9999.png").write_bytes(whole)

    was_written = prepare.prepare_images(images)

    assert was_written
    assert victim.read_bytes() == whole
    assert len(list(images.iterdir())) == IMAGE_COUNT


def test_what_a_killed_preparation_left_is_removed(prepare: ModuleType, tmp_path: Path) -> None:
    leftover = tmp_path / ".images-abc"
    leftover.mkdir()
    (leftover / "digit-0000.png").write_bytes(b"half")

    prepare.prepare_images(tmp_path / "images")

    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_prepare_needs_nothing_but_the_standard_library(examples: Path) -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); import prepare"

    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(examples / "digits")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (found.returncode, found.stderr) == (0, "")


def test_the_classifier_finds_held_out_digits_and_accuracy_says_so(
    images: Path, load_script: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score = load_script("digits", "score")
    accuracy = load_script("digits", "accuracy")
    output = tmp_path / "output.txt"

    score.init()
    rows = [row for mini_batch in in_mini_batches(images, 20) for row in score.run(mini_batch)]
    output.write_text("".join(row + "\n" for row in rows))
    capsys.readouterr()
    status = accuracy.main([str(output)])

    assert len(rows) == IMAGE_COUNT
    assert rows == sorted(rows)
    assert rows[0] == "digit-0000.png: 0"
    assert all(re.fullmatch(r"digit-\d{4}\.png: \d", row) for row in rows)
    told = re.fullmatch(
        r"Accuracy: ([\d.]+) % \(\d+ of 898 held-out digits\)\n", capsys.readouterr().out
    )
    assert status == 0
    assert told is not None
    assert float(told[1]) > 90


def test_the_classifier_never_sees_a_held_out_digit(load_script: Load) -> None:
    digits_table = load_script("digits", "digits_table")
    score = load_script("digits", "score")
    held_out = [digit for digit in digits_table.read_digits() if not digit.is_for_training]

    score.init()

    learned = {tuple(map(int, ink)) for ink in score.classifier._ink}
    assert len(learned) == 899
    assert not learned & {digit.ink for digit in held_out}


def test_the_pause_is_taken_from_among_the_settings_of_the_job(
    load_script: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = load_script("digits", "score")
    monkeypatch.setattr(
        sys, "argv", ["score.py", "--pause_seconds", "0.25", "--mini_batch_size", "20"]
    )

    assert score.read_pause_seconds() == 0.25


@pytest.mark.parametrize(
    ("content", "told"),
    [("digit-0000.png 7\n", ":1: must be NAME: DIGIT"), (None, "No such file")],
)
def test_accuracy_of_something_else_is_refused_in_one_line(
    load_script: Load,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str | None,
    told: str,
) -> None:
    path = tmp_path / "output.txt"
    if content is not None:
        path.write_text(content)

    status = load_script("digits", "accuracy").main([str(path)])

    captured = capsys.readouterr()
    assert status == 2
    assert told in captured.err
    assert captured.err.count("\n") == 1
