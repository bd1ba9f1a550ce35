"""Cut the files of a table into mini-batches, none of which crosses a file's border."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runner.core.csv_ranges import cut_records, cut_windows
from runner.core.manifest import TableRange
from runner.core.partition import TableSize
from runner.orchestrator.input_files import InputUnreadable

COMPRESSED = frozenset({".gz", ".bz2", ".xz"})
JSON_LINES = frozenset({".jsonl", ".ndjson", ".json"})
NOT_READ_YET = {
    ".parquet": "Parquet tables cannot be read yet; csv, tsv and jsonl can",
    ".zst": "text packed by zstd cannot be read yet; .gz, .bz2 and .xz can",
}
# Codecs that write ASCII as ASCII, and yet use its bytes within other characters.
_SHIFTING = ("iso2022", "hz", "utf-7")


class CutRange(NamedTuple):
    range: TableRange
    record_count: int | None  # None: known once it is loaded


def cut_tables(
    paths: Iterable[bytes], options: Mapping[str, Any], size: TableSize
) -> Iterator[CutRange]:
    """Yield the mini-batches of the table files, in their order."""
    for number, path in enumerate(paths):
        yield from _cut_file(os.fsdecode(path), options, size, is_first=number == 0)


def _cut_file(
    path: str, options: Mapping[str, Any], size: TableSize, *, is_first: bool
) -> Iterator[CutRange]:
    extension = os.path.splitext(path)[1].lower()
    if extension in NOT_READ_YET:
        raise InputUnreadable(path, NOT_READ_YET[extension])
    try:
        if extension in COMPRESSED or not is_cut_by_bytes(options.get("encoding")):
            length = Path(path).stat().st_size
            if length:
                yield CutRange(TableRange(path, 0, length, is_whole=True), None)
            return
        is_lines = _is_json_lines(path, options)
        header = options.get("header") or "every_file"
        has_header = not is_lines and (
            header == "every_file" or (header == "first_file" and is_first)
        )
        quoted = options.get("quoted_newlines")
        if quoted is False and size.byte_count is not None and not is_lines:
            yield from _cut_unscanned(path, size.byte_count, has_header=has_header)
        else:
            yield from _cut_scanned(
                path,
                size,
                has_header=has_header,
                has_quotes=not is_lines and quoted is not False,
            )
    except OSError as error:
        raise InputUnreadable(path, error.strerror or str(error)) from None


def _cut_scanned(
    path: str, size: TableSize, *, has_header: bool, has_quotes: bool
) -> Iterator[CutRange]:
    with open(path, "rb") as file:
        for one in cut_records(file, size, skip_header=has_header, has_quotes=has_quotes):
            yield CutRange(TableRange(path, one.start, one.end), one.record_count)


def _cut_unscanned(path: str, size_bytes: int, *, has_header: bool) -> Iterator[CutRange]:
    with open(path, "rb") as file:
        start = len(file.readline()) if has_header else 0
        length = os.fstat(file.fileno()).st_size
    for begin, end in cut_windows(length, size_bytes, start=start):
        yield CutRange(TableRange(path, begin, end), None)


def is_cut_by_bytes(encoding: str | None) -> bool:
    """Return whether the bytes of line end and quote mean nothing else in ``encoding``,
    so that a text in it can be cut without decoding it. UTF-16 is one that cannot."""
    if not encoding:
        return True
    try:
        codec = codecs.lookup(encoding)
        marks = '\n"\r'.encode(encoding).removeprefix(codecs.BOM_UTF8)
    except (LookupError, UnicodeError):
        return True  # whoever reads it says so
    return marks == b'\n"\r' and not codec.name.startswith(_SHIFTING)


def _is_json_lines(path: str, options: Mapping[str, Any]) -> bool:
    given = options.get("format")
    if given:
        return bool(given == "jsonl")
    return os.path.splitext(path)[1].lower() in JSON_LINES


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Keep an inline table as a file of JSON lines, so that it is cut like any other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
