"""What a job has produced."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import job_folder
from runner.core.safe_path import UnsafePath, open_inside

FILE_LIMIT = 1_000  # listed; what is more is counted
PREVIEW_ROWS = 50
PREVIEW_BYTES = 256 * 1024
PREVIEW_TEXT_BYTES = 4 * 1024
CELL_CHARACTERS = 200
SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}


class NoSuchOutput(Exception):
    """The job has no such output file (also when the path would lead out of its folder)."""


@dataclass(frozen=True)
class OutputFile:
    path: str  # below the output folder
    bytes: int
    modified_at: datetime


@dataclass(frozen=True)
class Outputs:
    output: str | None  # absolute path of the final file, once in place
    output_folder: str
    rows: int | None
    bytes: int | None
    sha256: str | None
    files: tuple[OutputFile, ...]
    more_files: int  # beyond those listed


@dataclass(frozen=True)
class Preview:
    """The first rows of a text file as a table, or its beginning as text."""

    path: str
    bytes: int
    separator: str | None  # null: not a table
    separator_name: str | None
    column_count: int
    rows: tuple[tuple[str, ...], ...]  # cells cut at 200 characters
    text: str | None  # the first 4 KiB when it is no table
    is_cut: bool  # the file has more


def output_folder(job: Job) -> Path:
    """Return where the output goes: the job's own folder, unless the job file says."""
    output = job.spec.get("output")
    path = output.get("path") if isinstance(output, dict) else None
    return Path(path) if path else job_folder(job).output


def job_outputs(job: Job) -> Outputs:
    files: list[OutputFile] = []
    more = 0
    for file in _files(output_folder(job)):
        if len(files) < FILE_LIMIT:
            files.append(file)
        else:
            more += 1
    return Outputs(
        output=job.output_path,
        output_folder=str(output_folder(job)),
        rows=job.output_rows,
        bytes=job.output_bytes,
        sha256=job.output_sha256,
        files=tuple(sorted(files, key=lambda file: file.path)),
        more_files=more,
    )


def open_output(job: Job, path: str) -> BinaryIO:
    """Open an output file for reading. Raises NoSuchOutput."""
    try:
        return open_inside(output_folder(job), path)
    except (UnsafePath, OSError):
        raise NoSuchOutput(f"Job {job.job_id} has no output {path!r}.") from None


def output_preview(job: Job, path: str, *, separator: str | None = None) -> Preview:
    """Return the first 50 rows. ``separator`` None: the one that the rows show.

    Raises NoSuchOutput.
    """
    with open_output(job, path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(PREVIEW_BYTES)
    if b"\0" in head:
        return Preview(path, size, None, None, 0, (), None, size > 0)
    text = head.decode("utf-8", "replace")
    lines = text.splitlines()
    if len(head) < size and len(lines) > 1:
        lines.pop()  # cut in the middle
    shown = lines[:PREVIEW_ROWS]
    found = separator or detect_separator(shown)
    is_cut = len(head) < size or len(lines) > PREVIEW_ROWS
    if found is None or max(map(len, shown)) > csv.field_size_limit():
        cut = text.encode()[:PREVIEW_TEXT_BYTES].decode("utf-8", "ignore")
        return Preview(path, size, None, None, 0, (), cut, len(cut) < len(text) or is_cut)
    rows = tuple(
        tuple(cell[:CELL_CHARACTERS] for cell in row)
        for row in csv.reader(shown, delimiter=found, skipinitialspace=found == " ")
    )
    columns = max(map(len, rows), default=0)
    return Preview(path, size, found, SEPARATORS.get(found, found), columns, rows, None, is_cut)


def detect_separator(lines: list[str]) -> str | None:
    """Return the character that cuts nearly every line into as many fields, two or
    more; of several the one that gives most fields, a space last. None: no table."""
    best: tuple[int, str] | None = None
    for separator in SEPARATORS:
        try:
            counts = Counter(len(row) for row in csv.reader(lines, delimiter=separator) if row)
        except csv.Error:
            continue
        if not counts:
            continue
        fields, agreeing = counts.most_common(1)[0]
        if fields < 2 or agreeing < 0.9 * counts.total():
            continue
        if best is None or (fields > best[0] and separator != " "):
            best = (fields, separator)
    return best[1] if best else None


def _files(folder: Path) -> Iterator[OutputFile]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent) / name
            try:
                status = path.lstat() if path.is_symlink() else path.stat()
            except OSError:
                continue
            yield OutputFile(
                str(path.relative_to(folder)),
                status.st_size,
                datetime.fromtimestamp(status.st_mtime, UTC),
            )
