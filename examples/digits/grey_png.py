"""Reads the small images of this example without an imaging library."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class NotAGreyPng(ValueError):
    """The file is no PNG, is damaged, or is of a form that is not read here."""


def read_grey_png(path: str | Path) -> np.ndarray:
    """Rows x columns of whole numbers from 0 (black) to 255 (white).

    Read are images as prepare.py writes them: 8-bit grey, not interlaced, without
    row filters. Raises NotAGreyPng for every other.
    """
    chunks = _read_chunks(path)
    width, height = _read_size(chunks.get(b"IHDR", b""), path)
    try:
        content = zlib.decompress(chunks.get(b"IDAT", b""))
    except zlib.error as error:
        raise NotAGreyPng(f"{path}: the pixels cannot be unpacked: {error}") from None
    if len(content) != height * (width + 1):
        raise NotAGreyPng(f"{path}: {len(content)} bytes of pixels for {width} x {height}")
    rows = np.frombuffer(content, dtype=np.uint8).reshape(height, width + 1)
    if rows[:, 0].any():
        raise NotAGreyPng(f"{path}: rows with a filter are not read here")
    return rows[:, 1:]


def _read_chunks(path: str | Path) -> dict[bytes, bytes]:
    """Content of each kind of chunk, those of one kind joined."""
    data = Path(path).read_bytes()
    if not data.startswith(PNG_SIGNATURE):
        raise NotAGreyPng(f"{path}: does not begin as a PNG file does")
    chunks: dict[bytes, bytes] = {}
    offset = len(PNG_SIGNATURE)
    while offset < len(data):
        kind, content, offset = _read_chunk(data, offset, path)
        chunks[kind] = chunks.get(kind, b"") + content
    return chunks


def _read_chunk(data: bytes, offset: int, path: str | Path) -> tuple[bytes, bytes, int]:
    """Kind and content of the chunk at this offset, and where the next one begins."""
    try:
        length, kind = struct.unpack_from(">I4s", data, offset)
        (checksum,) = struct.unpack_from(">I", data, offset + 8 + length)
    except struct.error:
        raise NotAGreyPng(f"{path}: ends within a chunk") from None
    content = data[offset + 8 : offset + 8 + length]
    if zlib.crc32(kind + content) != checksum:
        raise NotAGreyPng(f"{path}: checksum of chunk {kind!r} is wrong")
    return kind, content, offset + 12 + length


def _read_size(header: bytes, path: str | Path) -> tuple[int, int]:
    if len(header) != 13:
        raise NotAGreyPng(f"{path}: has no header")
    width, height, *form = struct.unpack(">IIBBBBB", header)
    if form != [8, 0, 0, 0, 0]:
        raise NotAGreyPng(f"{path}: only 8-bit grey without interlacing is read here")
    return width, height
