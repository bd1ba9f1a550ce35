"""The copy of the user's code that a job runs: taken whole, checked first, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from runner.core.ignore_rules import IGNORE_FILES, IgnoreRules

WARN_BYTES = 100 * 1024**2
LIMIT_BYTES = 2 * 1024**3
LIMIT_FILES = 100_000
LONGEST_NAME_SHOWN = 200
_COPY_BYTES = 1024 * 1024
# Of the system that unpacks, not of the archive.
_OWN_FAILURES = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.EMFILE}
)


class BadSource(Exception):
    """The code cannot be taken as it is. Fit to show: where, rule, what was found."""


class SourceTooLarge(BadSource):
    """More than a snapshot may hold."""


@dataclass(frozen=True)
class SourceArchive:
    """An uploaded .zip or .tar.gz of a code folder."""

    file: BinaryIO
    name: str


@dataclass(frozen=True)
class Snapshot:
    file_count: int
    byte_count: int

    @property
    def warnings(self) -> list[str]:
        if self.byte_count <= WARN_BYTES:
            return []
        return [
            f"the code folder holds {self.byte_count / 1024**2:.0f} MiB in "
            f"{self.file_count:,} files; name what the job does not need in .amlignore"
        ]


def copy_folder(source: Path, target: Path) -> Snapshot:
    """Copy ``source`` to ``target``, which must not exist, without what its
    ``.amlignore`` (else ``.gitignore``) names.

    A link inside the folder is copied as what it leads to; one that leaves the
    folder is refused. Raises BadSource and SourceTooLarge; ``target`` is then gone.
    """
    room = _Room()
    try:
        target.mkdir(parents=True)
        for path in _wanted(source, _rules(source)):
            _copy(source, path, target, room)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return Snapshot(room.files, room.bytes)


def list_folder(folder: Path) -> list[str]:
    """Return the paths of the files of a snapshot, relative, in order."""
    return list(_wanted(folder, IgnoreRules(())))


def unpack_archive(archive: SourceArchive, target: Path) -> None:
    """Unpack into ``target``, which must not exist. Every member's path is checked
    before the first is written: none leaves the folder, none is a link that
    leads out, a device or a pipe. Raises BadSource, and OSError where this server
    cannot write; ``target`` is then gone.
    """
    try:
        target.mkdir(parents=True)
        if zipfile.is_zipfile(archive.file):
            archive.file.seek(0)
            _unpack_zip(archive.file, target)
        else:
            archive.file.seek(0)
            _unpack_tar(archive.file, target)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if not isinstance(error, Exception) or isinstance(error, BadSource | MemoryError):
            raise
        if isinstance(error, OSError) and error.errno in _OWN_FAILURES:
            raise
        # What a broken archive makes the two modules raise is of a dozen kinds.
        raise BadSource(
            "source: must be a .zip or .tar.gz of the code folder "
            f"({archive.name}: {_said_of_archive(error, target)})"
        ) from error


def _said_of_archive(error: Exception, target: Path) -> str:
    """Return what is wrong in one line, with the member's own path."""
    if isinstance(error, OSError) and error.filename:
        member = os.path.relpath(os.fsdecode(error.filename), target)
        what = "stands in it twice" if isinstance(error, FileExistsError) else error.strerror
        return f"{member[:LONGEST_NAME_SHOWN]}: {what}"
    if isinstance(error, IndexError | KeyError | AssertionError):
        return "a member of it cannot be read"
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(":")


class _Room:
    """What may still be taken in."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0

    def take_file(self) -> None:
        self.files += 1
        if self.files > LIMIT_FILES:
            raise SourceTooLarge(
                f"source: may hold at most {LIMIT_FILES:,} files; is that the code folder?"
            )

    def take_bytes(self, count: int) -> None:
        self.bytes += count
        if self.bytes > LIMIT_BYTES:
            raise SourceTooLarge(
                "source: may hold at most 2 GiB; data belongs into inputs or side_inputs"
            )


# --- folders ---------------------------------------------------------------------


def _rules(source: Path) -> IgnoreRules:
    for name in IGNORE_FILES:
        try:
            return IgnoreRules((source / name).read_text("utf-8", "replace").splitlines())
        except (FileNotFoundError, IsADirectoryError):
            continue
    return IgnoreRules(())


def _wanted(source: Path, rules: IgnoreRules) -> Iterator[str]:
    """Give the paths of files, and of folders that a link leads to, in order."""
    for folder, folders, files in os.walk(source, onerror=_refuse):
        inside = os.path.relpath(folder, source)
        prefix = "" if inside == "." else f"{inside}/"
        kept = []
        for name in sorted(folders):
            if rules.ignores(prefix + name, is_folder=True):
                continue
            if (Path(folder) / name).is_symlink():
                yield prefix + name
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(files):
            if not rules.ignores(prefix + name, is_folder=False):
                yield prefix + name


def _refuse(error: OSError) -> None:
    raise BadSource(f"source_directory: cannot be read ({error.filename}: {error.strerror})")


def _real(source: Path, path: str) -> Path:
    """Return where ``path`` leads, which must be inside the folder."""
    real = (source / path).resolve()
    if not real.is_relative_to(source.resolve()):
        raise BadSource(f"source_directory: {path} is a link that leaves the folder")
    return real


def _copy(source: Path, path: str, target: Path, room: _Room) -> None:
    real = _real(source, path)
    destination = target / path
    destination.parent.mkdir(parents=True, exist_ok=True)
    if real.is_dir():  # a link to a folder of the same tree: stays one
        inner = os.path.relpath(real, source.resolve())
        destination.symlink_to(os.path.relpath(target / inner, destination.parent))
        return
    room.take_file()
    try:
        reader = _open_file(real)
    except OSError as error:
        raise BadSource(
            f"source_directory: {path} cannot be read ({error.strerror})"
        ) from error
    with reader, destination.open("xb") as writer:
        _stream(reader, writer, room)
        mode = os.fstat(reader.fileno()).st_mode
        destination.chmod(0o755 if mode & 0o111 else 0o644)


def _open_file(path: Path) -> BinaryIO:
    """Open a regular file; a pipe or a device would wait for ever."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "is not a regular file", str(path))
    return os.fdopen(handle, "rb")


def _stream(reader: IO[bytes], writer: IO[bytes], room: _Room) -> None:
    while block := reader.read(_COPY_BYTES):
        room.take_bytes(len(block))
        writer.write(block)


# --- archives --------------------------------------------------------------------


def _unpack_zip(file: BinaryIO, target: Path) -> None:
    room = _Room()
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        for member in members:
            _check_name(member.filename)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise BadSource(f"source: {member.filename} is neither a file nor a folder")
        for member in members:
            destination = target / member.filename
            if member.is_dir():
                destination.mkdir(parents=True, exist_ok=True)
                continue
            room.take_file()
            destination.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as reader, destination.open("xb") as writer:
                _stream(reader, writer, room)
            is_program = (member.external_attr >> 16) & 0o111
            destination.chmod(0o755 if is_program else 0o644)


def _unpack_tar(file: BinaryIO, target: Path) -> None:
    room = _Room()
    with tarfile.open(fileobj=file, mode="r:*") as archive:
        members = []
        for member in archive:  # one at a time: a bomb is noticed while it is read
            _check_name(member.name)
            if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
                raise BadSource(f"source: {member.name} is neither a file nor a folder")
            room.take_file()
            room.take_bytes(member.size)
            members.append(member)
        for member in members:
            # "data" refuses links that lead out and drops owners and odd bits.
            archive.extract(member, target, filter="data")


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name:
        raise BadSource(f"source: the path {name!r} leads out of the archive")
