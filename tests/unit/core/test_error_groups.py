"""Errors of one cause are one group, whatever the numbers in their messages."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.error_groups import (
    PATTERN_CHARS,
    CaughtError,
    cause_of_group,
    group_init,
    group_try,
    normalise,
)
from runner.harness import wire


def error(message: str, *, line: int = 42, source: str = "x = 1", **more: Any) -> CaughtError:
    raw = {
        "kind": "exception",
        "types": ["ValueError"],
        "message": message,
        "frames": [
            ["/code/score.py", "score", "run", 10, "return read(path)", True],
            ["/code/score.py", "score", "read", line, source, True],
            ["/usr/lib/csv.py", "csv", "next", 9, "raise", False],
        ],
        "traceback": "Traceback …",
    }
    return CaughtError.from_wire(raw | more)


def test_the_fingerprint_does_not_change_with_the_message() -> None:
    assert error("row 17 is bad").fingerprint() == error("row 99 is bad").fingerprint()


def test_the_fingerprint_does_not_change_when_lines_move() -> None:
    assert error("bad", line=42).fingerprint() == error("bad", line=57).fingerprint()


def test_another_line_of_code_or_type_is_another_group() -> None:
    first = error("bad").fingerprint()

    assert error("bad", source="y = 2").fingerprint() != first
    assert error("bad", types=["KeyError"]).fingerprint() != first
    assert first.startswith("v1:")
    assert len(first) == len("v1:") + 8


def test_without_frames_the_message_tells_with_its_numbers_hidden() -> None:
    def plain(message: str) -> str:
        return error(message, frames=[]).fingerprint()

    assert plain("file 17 is missing") == plain("file 4 is missing")
    assert plain("file 17 is missing") != plain("folder 17 is missing")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("row 17 of 3.5e-7", "row <n> of <n>"),
        ("cannot read '/data/a.csv'", "cannot read <text>"),
        ("cannot read /data/in/a-17.csv", "cannot read <path>"),
        ("at 0x7f3a44", "at <hex>"),
        ("job 9f1c2b7e-0000-4000-8000-123456789abc", "job <id>"),
    ],
)
def test_what_varies_becomes_a_token(message: str, expected: str) -> None:
    assert normalise(message) == expected


def test_the_place_is_the_innermost_frame_of_the_script() -> None:
    assert error("bad").place == "score.py:42"


@pytest.mark.parametrize(
    ("status", "kind", "fingerprint", "cause"),
    [
        (wire.RUN_TIMEOUT, "timeout", "timeout:run_invocation_timeout", "run_timeout"),
        (wire.OUT_OF_MEMORY, "oom", "oom", "out_of_memory"),
        (wire.NODE_LOST, "node_lost", "node_lost", "nodes_lost"),
        (wire.PROCESS_DIED, "died", "died", "process_died"),
    ],
)
def test_a_failure_without_a_stack_is_grouped_by_its_status(
    status: int, kind: str, fingerprint: str, cause: str
) -> None:
    group = group_try(status, None)

    assert (group.kind, group.fingerprint) == (kind, fingerprint)
    assert group.title
    assert cause_of_group(group.kind) == cause


def test_a_signal_is_told_by_the_node() -> None:
    told = CaughtError(kind="signal:11", message="Ended by signal 11 (SIGSEGV)")

    group = group_try(wire.PROCESS_DIED, told)

    assert (group.fingerprint, group.kind) == ("signal:11", "signal")
    assert group.title == "Ended by signal 11 (SIGSEGV)"


def test_wrong_types_are_one_group_whatever_the_mini_batch() -> None:
    told = CaughtError(
        "wrong_type", ("NoneType",), "run() returned NoneType for mini-batch 17 (10 items)"
    )

    group = group_try(wire.WRONG_RETURN_TYPE, told)

    assert group.fingerprint == "wrong_type"
    assert group.title == "run() returned NoneType; a list or a DataFrame is expected"


def test_errors_of_loading_and_init_have_their_own_kind() -> None:
    assert group_try(wire.LOAD_EXCEPTION, error("x", kind="load")).kind == "input_unreadable"
    assert group_init(error("x", kind="init")).kind == "init_failed"
    assert group_init(error("x", kind="import")).kind == "import_failed"


def test_a_strange_error_is_read_as_an_empty_one() -> None:
    strange = CaughtError.from_wire({"types": None, "frames": [["too", "short"]]})

    assert group_try(wire.RUN_EXCEPTION, strange).title


def test_an_error_of_ours_is_told_by_its_message_alone() -> None:
    told = error("score.py has no function run()", types=["_prs_harness.script.ScriptInvalid"])

    assert told.title == "score.py has no function run()"


@pytest.mark.parametrize("word", ["m", "a-", "1.1", "deadbeef", "'\\"], ids=repr)
def test_a_message_as_long_as_a_file_is_not_searched_for_ever(word: str) -> None:
    assert len(normalise(word * 1_000_000)) < 10 * PATTERN_CHARS
