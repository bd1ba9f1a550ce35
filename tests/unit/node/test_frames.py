from __future__ import annotations

import pytest

from runner.core.wire_format import wire
from runner.node.frames import BrokenFrame, Frame, FrameReader, read_block_head

FRAMES = [
    Frame(wire.FRAME_READY, 0, b'{"init_seconds": 1}'),
    Frame(wire.FRAME_BLOCK, 3, b"x" * 1000),
    Frame(wire.FRAME_LEASE_DONE, 3, b""),
    Frame(wire.FRAME_ENDED, 0, b"{}"),
]


def pack(frame: Frame) -> bytes:
    return wire.FRAME_HEAD.pack(frame.kind, frame.lease_id, len(frame.body)) + frame.body


@pytest.mark.parametrize("size", [1, 2, 7, 13, 100, 1013, 5000])
def test_frames_come_out_whole_however_the_bytes_are_cut(size):
    data = b"".join(map(pack, FRAMES))
    reader = FrameReader()

    found = [
        frame for at in range(0, len(data), size) for frame in reader.feed(data[at : at + size])
    ]

    assert found == FRAMES


def test_what_is_no_frame_is_refused():
    with pytest.raises(BrokenFrame, match="kind 77"):
        FrameReader().feed(wire.FRAME_HEAD.pack(77, 0, 1))
    with pytest.raises(BrokenFrame):
        FrameReader().feed(wire.FRAME_HEAD.pack(wire.FRAME_BLOCK, 0, 1 << 40))


def test_the_head_of_a_block_tells_its_records():
    record = (5, 1, wire.OUTCOME_SUCCEEDED, wire.RUN_DONE, 2, 2, 2, 0, 4, 0, 0, 0, 0, 0)
    block = wire.pack_block(1, 0, 3, [record, record], [])

    head = read_block_head(block)

    assert (head.record_count, head.is_final) == (2, True)
    with pytest.raises(BrokenFrame):
        read_block_head(block[:-1])
    with pytest.raises(BrokenFrame):
        read_block_head(b"")
