"""Lines of a log by number, whatever the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.core import log_index
from runner.core.log_index import BLOCK_BYTES, CutLine, open_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.txt"


def lines_of(log: Path, first: int, count: int) -> tuple[str, ...]:
    with open_log(log.parent, log.name) as opened:
        return opened.lines(first=first, count=count).lines


@pytest.mark.parametrize(
    ("content", "line_count"),
    [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2)],
)
def test_lines_are_counted_as_sed_counts_them(log, content, line_count):
    log.write_bytes(content)

    with open_log(log.parent, log.name) as opened:
        assert opened.line_count == line_count
        assert len(opened.lines(first=1, count=10).lines) == line_count


def test_every_line_of_a_file_of_many_blocks_is_found_by_its_number(log):
    log.write_text("".join(f"line {number}\n" for number in range(1, 50_001)))

    assert log.stat().st_size > 5 * BLOCK_BYTES
    with open_log(log.parent, log.name) as opened:
        for number in (1, 2, 4_999, 5_000, 5_001, 31_415, 50_000):
            assert opened.lines(first=number, count=1).lines == (f"line {number}",)


def test_a_negative_first_line_counts_from_the_end(log):
    log.write_text("a\nb\nc\nd")

    assert lines_of(log, -2, 2) == ("c", "d")
    assert lines_of(log, -200, 200) == ("a", "b", "c", "d")


def test_beyond_the_end_there_are_no_lines(log):
    log.write_text("a\nb\n")

    assert lines_of(log, 3, 10) == ()


def test_an_answer_has_at_most_500_lines(log):
    log.write_text("x\n" * 2_000)

    assert len(lines_of(log, 1, 5_000)) == 500


def test_a_long_line_is_cut_at_16_kib_and_says_how_long_it_is(log):
    log.write_bytes(b"short\n" + b"x" * 300_000 + b"\nafter\n")

    with open_log(log.parent, log.name) as opened:
        answer = opened.lines(first=1, count=3)

    assert [len(line) for line in answer.lines] == [5, 16 * 1024, 5]
    assert answer.lines[2] == "after"
    assert answer.cut == (CutLine(2, 300_000),)


def test_many_long_lines_are_cut_earlier_so_that_the_answer_stays_under_512_kib(log):
    log.write_bytes((b"x" * 20_000 + b"\n") * 500)

    with open_log(log.parent, log.name) as opened:
        answer = opened.lines(first=1, count=500)

    assert len(answer.lines) == 500
    assert sum(map(len, answer.lines)) <= 512 * 1024
    assert {len(line) for line in answer.lines} == {512 * 1024 // 500}


def test_a_character_is_never_cut_in_half(log):
    log.write_text("é" * 20_000, encoding="utf-8")

    (line,) = lines_of(log, 1, 1)

    assert set(line) == {"é"}


def test_bytes_that_are_no_utf8_show_as_a_replacement(log):
    log.write_bytes(b"a\xffb\n")

    assert lines_of(log, 1, 1) == ("a\ufffdb",)


def test_a_growing_file_is_counted_on_from_its_index(log):
    log.write_bytes(b"0123456789abcde\n" * (70 * BLOCK_BYTES // 16))
    with open_log(log.parent, log.name) as opened:
        before = opened.line_count
    assert (log.parent / "log.txt.idx").exists()

    with log.open("ab") as file:
        file.write(b"new line\n")

    with open_log(log.parent, log.name) as opened:
        assert opened.line_count == before + 1
        assert opened.lines(first=-1, count=1).lines == ("new line",)


def test_a_file_that_was_cut_is_counted_anew(log):
    log.write_bytes(b"0123456789abcde\n" * (70 * BLOCK_BYTES // 16))
    lines_of(log, 1, 1)

    os.truncate(log, 0)
    log.write_text("fresh\n")

    assert lines_of(log, 1, 10) == ("fresh",)


def test_a_file_with_the_name_of_an_index_that_is_not_ours_is_left_alone(log):
    (log.parent / "log.txt.idx").write_text("the user's own")
    log.write_bytes(b"0123456789abcde\n" * (70 * BLOCK_BYTES // 16))

    assert lines_of(log, 2, 1) == ("0123456789abcde",)
    assert (log.parent / "log.txt.idx").read_text() == "the user's own"


def test_a_folder_that_cannot_be_written_costs_only_the_index(log, monkeypatch):
    log.write_bytes(b"0123456789abcde\n" * (70 * BLOCK_BYTES // 16))

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(log_index.Path, "replace", refuse)

    assert lines_of(log, 2, 1) == ("0123456789abcde",)


def test_search_gives_each_line_once_with_its_number(log):
    log.write_text("a Key key\nnothing\nthe KEY\n")

    with open_log(log.parent, log.name) as opened:
        answer = opened.search("key")
        exact = opened.search("key", is_case_sensitive=True)

    assert [(hit.line, hit.text) for hit in answer.hits] == [
        (1, "a Key key"),
        (3, "the KEY"),
    ]
    assert [hit.line for hit in exact.hits] == [1]
    assert answer.is_complete
    assert answer.searched_to_line == 3


def test_a_hit_over_the_border_of_two_reads_is_found(log):
    border = 16 * BLOCK_BYTES
    log.write_bytes(b"x" * (border - 3) + b"needle\nafter needle\n")

    with open_log(log.parent, log.name) as opened:
        assert [hit.line for hit in opened.search("needle").hits] == [1, 2]


def test_a_search_whose_time_is_up_says_how_far_it_came_and_goes_on_from_there(log):
    log.write_text("".join(f"line {number}\n" for number in range(1, 300_001)))

    with open_log(log.parent, log.name) as opened:
        stopped = opened.search("line 299999", seconds=-1)
        found = opened.search("line 299999", from_line=stopped.searched_to_line + 1)

    assert not stopped.is_complete
    assert [hit.line for hit in found.hits] == [299_999]


def test_a_search_stops_at_its_limit_and_goes_on_without_a_gap(log):
    log.write_text("x\n" * 10)

    with open_log(log.parent, log.name) as opened:
        first = opened.search("x", limit=4)
        rest = opened.search("x", from_line=first.searched_to_line + 1)

    assert [hit.line for hit in first.hits + rest.hits] == list(range(1, 11))


def test_the_line_of_a_byte_is_found_in_any_block(log):
    text = b"".join(b"%d\n" % number for number in range(1, 30_000))
    assert len(text) > 2 * BLOCK_BYTES
    log.write_bytes(text)

    with open_log(log.parent, log.name) as opened:
        for line in (1, 2, 9_999, 20_000, 29_999):
            start = text.index(b"\n%d\n" % line) + 1 if line > 1 else 0
            assert opened.line_at(start) == line
            assert opened.line_at(start + len(str(line))) == line  # its line end
