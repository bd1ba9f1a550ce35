"""Assemble the output: the winning ranges, in mini-batch order, into one file.

A temporary file beside the target is written, synced and renamed, so the
output is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Sum

from prsweb.jobs.models import Job, JobProcess, MiniBatch
from prsweb.jobs.models.mini_batch import process_key, split_process_key
from runner.core.layout import JobFolder
from runner.core.output_columns import SegmentColumns, header_line, unite
from runner.core.output_layout import Piece, merge_neighbours
from runner.core.run_settings import StepSettings
from runner.core.states import MiniBatchState
from runner.harness.wire import COLUMNS_SUFFIX

COPY_BYTES = 1024 * 1024
ROWS_READ = 5000
HEADER_RANGES = 1000  # mini-batches whose columns are looked at for the header
IN_THE_WAY = (
    "a file of that name was put there while the job ran, and stays; the rows are kept "
    "in the job's segments (output.overwrite: true would replace it)"
)
WINNING = (MiniBatchState.SUCCEEDED, MiniBatchState.PARTIAL)


class OutputFailed(Exception):
    """The output could not be written; ``path`` and the system's message say why."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        self.message = message
        super().__init__(f"{path}: {message}")


@dataclass(frozen=True)
class Output:
    path: Path
    row_count: int  # results, the header is none
    size_bytes: int
    sha256: str
    has_replaced: bool = False  # a file that the script had put there


class Segments:
    """The segments of a job's processes, at most so many open at a time."""

    MOST_OPEN = 64

    def __init__(self, job: Job, folder: JobFolder) -> None:
        self._folder = folder
        rows = JobProcess.objects.filter(job=job)
        self._names = {
            process_key(index, number): name
            for index, number, name in rows.values_list("node_index", "number", "segment")
        }
        self._open: dict[int, int] = {}
        self._columns: dict[int, SegmentColumns] = {}

    def path(self, process: int) -> Path:
        name = self._names.get(process)
        if name is None:
            index, number = split_process_key(process)
            raise OutputFailed(self._folder.segments, f"no segment of node {index} p{number}")
        return self._folder.segments / name

    def descriptor(self, process: int) -> int:
        found = self._open.get(process)
        if found is None:
            if len(self._open) >= self.MOST_OPEN:
                os.close(self._open.pop(next(iter(self._open))))
            found = self._open[process] = os.open(
                self.path(process), os.O_RDONLY | os.O_CLOEXEC
            )
        return found

    def columns(self, process: int) -> SegmentColumns:
        found = self._columns.get(process)
        if found is None:
            path = self.path(process)
            notes = path.with_name(path.name + COLUMNS_SUFFIX)
            text = notes.read_text(encoding="utf-8") if notes.exists() else ""
            found = self._columns[process] = SegmentColumns(text)
        return found

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


def output_path(settings: StepSettings, folder: JobFolder) -> Path:
    return (settings.output_path or folder.output) / settings.append_row_file_name


def assemble_output(
    job: Job,
    settings: StepSettings,
    folder: JobFolder,
    *,
    on_progress: Callable[[float, int], None],
) -> Output:
    """Write the output of ``job`` and return what it is.

    ``on_progress`` is called after every megabyte or so with the share done (0
    to 1) and the bytes of the whole. Raises OutputFailed, also where somebody else's
    file is in the way; the segments stay.
    """
    target = output_path(settings, folder)
    fresh = target.with_name(f".{job.job_id}.new")  # short: the target's name may not be
    segments = Segments(job, folder)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("wb") as file:
            digest, size = _write(file, job, settings, segments, on_progress)
            file.flush()
            os.fsync(file.fileno())
        is_in_the_way = target.exists() and not _holds(target, digest, size)
        may_replace = settings.output_path is None or settings.output.get("overwrite")
        if is_in_the_way and not may_replace:
            raise OutputFailed(target, IN_THE_WAY)
        fresh.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        _remove(fresh)
        message = error.strerror or str(error)
        is_ours = error.filename in (None, str(target), str(fresh))
        raise OutputFailed(
            target, message if is_ours else f"{error.filename}: {message}"
        ) from error
    except OutputFailed:
        _remove(fresh)
        raise
    finally:
        segments.close()
    rows = _winners(job).aggregate(rows=Sum("results"))["rows"] or 0
    has_replaced = is_in_the_way and not settings.output.get("overwrite")
    return Output(target, int(rows), size, digest, has_replaced)


def _holds(path: Path, digest: str, size: int) -> bool:
    """Return whether the file is what we would write: a master that was killed after
    it had put its file in place has left the same, to the byte."""
    if path.stat().st_size != size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _remove(fresh: Path) -> None:
    with suppress(OSError):
        fresh.unlink(missing_ok=True)


def _write(
    file: Any,
    job: Job,
    settings: StepSettings,
    segments: Segments,
    on_progress: Callable[[float, int], None],
) -> tuple[str, int]:
    """Return the SHA-256 and the size of what was written."""
    whole = _winners(job).aggregate(bytes=Sum("length"))["bytes"] or 0
    digest, size = hashlib.sha256(), 0
    header = _header(job, settings, segments)
    for block in _blocks(header, _pieces(job), segments):
        digest.update(block)
        file.write(block)
        size += len(block)
        on_progress(size / max(whole, 1), whole)
    return digest.hexdigest(), size


def _blocks(header: bytes, pieces: Iterator[Piece], segments: Segments) -> Iterator[bytes]:
    """Yield the output in blocks of up to a megabyte; neighbours that are small are
    handed on together."""
    small = [header] if header else []
    waiting = len(header)
    for piece in pieces:
        descriptor = segments.descriptor(piece.process)
        offset, left = piece.offset, piece.length
        while left:
            block = os.pread(descriptor, min(left, COPY_BYTES), offset)
            if not block:
                path = segments.path(piece.process)
                raise OutputFailed(path, f"ends before byte {offset}")
            offset, left = offset + len(block), left - len(block)
            small.append(block)
            waiting += len(block)
            if waiting >= COPY_BYTES:
                yield b"".join(small)
                small, waiting = [], 0
    if waiting:
        yield b"".join(small)


def _pieces(job: Job) -> Iterator[Piece]:
    rows = _winners(job).order_by("key").values_list("process", "offset", "length")
    return merge_neighbours(rows.iterator(chunk_size=ROWS_READ))


def _winners(job: Job) -> Any:
    return MiniBatch.objects.of_job(job.pk).filter(state__in=WINNING)


def _header(job: Job, settings: StepSettings, segments: Segments) -> bytes:
    """Return the header line, empty where none is wanted or rows have no columns."""
    output = settings.output
    kind = output.get("format") or "text"
    wanted = output.get("header")
    if kind not in ("text", "csv") or not (kind == "csv" if wanted is None else wanted):
        return b""
    columns: tuple[str, ...] = ()
    rows = _winners(job).filter(length__gt=0).order_by("key")
    for process, offset in rows.values_list("process", "offset")[:HEADER_RANGES]:
        columns = unite(columns, segments.columns(process).at(offset) or ())
    if not columns:
        return b""
    separator = output.get("sep") or ("," if kind == "csv" else " ")
    return header_line(columns, separator=separator).encode()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
