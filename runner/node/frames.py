"""Cut the bytes of a report pipe into frames.

A body is copied once, out of what was read; a block then travels on as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.core.wire_format import wire

HEAD_BYTES = wire.FRAME_HEAD.size
LARGEST_BODY_BYTES = 256 << 20
KNOWN_KINDS = frozenset(range(wire.FRAME_READY, wire.FRAME_ENDED + 1))


class BrokenFrame(ValueError):
    """What the process sent is no frame; nothing after it can be read."""


@dataclass(frozen=True)
class Frame:
    kind: int  # wire.FRAME_…
    lease_id: int  # 0: none
    body: bytes


class FrameReader:
    """Give it the bytes as they come; it gives back the frames that are whole."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a frame that is not whole yet
        self._held_bytes = 0
        self._needed_bytes = HEAD_BYTES

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames completed by ``data``, oldest first.

        Raises BrokenFrame for an unknown kind or an absurd length.
        """
        if self._parts:
            self._parts.append(data)
            self._held_bytes += len(data)
            if self._held_bytes < self._needed_bytes:
                return []
            data = b"".join(self._parts)
            self._parts = []
        frames: list[Frame] = []
        at = self._cut(data, frames)
        self._keep(data, at)
        return frames

    def _cut(self, data: bytes, frames: list[Frame]) -> int:
        at, size = 0, len(data)
        while size - at >= HEAD_BYTES:
            kind, lease_id, length = wire.FRAME_HEAD.unpack_from(data, at)
            if kind not in KNOWN_KINDS or length > LARGEST_BODY_BYTES:
                raise BrokenFrame(f"frame of kind {kind} with {length} bytes")
            end = at + HEAD_BYTES + length
            if end > size:
                self._needed_bytes = end - at
                return at
            frames.append(Frame(kind, lease_id, data[at + HEAD_BYTES : end]))
            at = end
        self._needed_bytes = HEAD_BYTES
        return at

    def _keep(self, data: bytes, at: int) -> None:
        if at < len(data):
            self._parts = [data[at:] if at else data]
        self._held_bytes = len(data) - at


@dataclass(frozen=True)
class BlockHead:
    is_final: bool  # every record has its final outcome
    record_count: int


def read_block_head(body: bytes) -> BlockHead:
    """Return what the head of a block says; its records stay packed.

    Raises BrokenFrame when it is none, or its parts do not add up to its length.
    """
    if len(body) < wire.BLOCK_HEAD.size:
        raise BrokenFrame(f"block of {len(body)} bytes")
    magic, final, _, _, _, count, errors = wire.BLOCK_HEAD.unpack_from(body)
    size = wire.BLOCK_HEAD.size + count * wire.RECORD.size + errors
    if magic != wire.BLOCK_MAGIC or size != len(body):
        raise BrokenFrame(f"block of {len(body)} bytes that should have {size}")
    return BlockHead(bool(final), count)
