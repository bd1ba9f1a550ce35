"""Writes the 1,797 images of the digits job; run it once before the job is submitted.

    python3 examples/digits/prepare.py

Nothing is downloaded and nothing but Python is needed. A complete folder is left
as it is; a folder with missing or damaged images is written anew.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from digits_table import FULL_INK, SIDE, Digit, read_digits

HERE = Path(__file__).resolve().parent
IMAGES = HERE / "images"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
TEMPORARY_PREFIX = ".images-"  # hidden, so that no input ever lists it


def main() -> int:
    try:
        was_written = prepare_images(IMAGES)
    except OSError as error:
        print(f"The images cannot be written to {IMAGES}: {error}", file=sys.stderr)
        return 1
    print(f"{'Written' if was_written else 'Already there'}: {IMAGES}", file=sys.stderr)
    return 0


def prepare_images(folder: Path) -> bool:
    """True when the images had to be written, False when all were there already.

    The folder appears under its name only when it is complete, and two calls at
    one time do the work once.
    """
    images = {digit.file_name: encode_png(grey_pixels(digit)) for digit in read_digits()}
    with _alone_in(folder.parent):
        _remove_leftovers(folder.parent)
        if _holds_exactly(folder, images):
            return False
        _write_folder(folder, images)
        return True


def grey_pixels(digit: Digit) -> bytes:
    """64 bytes, row by row: 0 without ink, 255 with full ink."""
    return bytes(round(ink * 255 / FULL_INK) for ink in digit.ink)


def encode_png(pixels: bytes) -> bytes:
    """A PNG file of 8 x 8 pixels in 8-bit grey.

    Source: https://www.w3.org/TR/png-3/ (chunks: 5.3, IHDR: 11.2.1, filter 0: 9.2).
    """
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    rows = (pixels[start : start + SIDE] for start in range(0, len(pixels), SIDE))
    unfiltered = b"".join(b"\x00" + row for row in rows)
    return (
        PNG_SIGNATURE
        + _png_chunk(b"IHDR", header)
        + _png_chunk(b"IDAT", zlib.compress(unfiltered, 9))
        + _png_chunk(b"IEND", b"")
    )


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Waits for any other prepare.py on this folder; the lock ends with the process."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(parent: Path) -> None:
    for leftover in parent.glob(TEMPORARY_PREFIX + "*"):
        shutil.rmtree(leftover)


def _holds_exactly(folder: Path, images: Mapping[str, bytes]) -> bool:
    if not folder.is_dir() or set(os.listdir(folder)) != set(images):
        return False
    return all((folder / name).read_bytes() == content for name, content in images.items())


def _write_folder(folder: Path, images: Mapping[str, bytes]) -> None:
    new = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=folder.parent))
    try:
        for name, content in images.items():
            (new / name).write_bytes(content)
        new.chmod(0o755)  # mkdtemp's 0700 would hide the images from jobs of another user
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


if __name__ == "__main__":
    sys.exit(main())
