"""Pack a job's code to send it."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prsweb.cli.console import say
from prsweb.cli.failure import CommandFailed
from prsweb.cli.words import byte_size
from runner.core.ignore_rules import IGNORE_FILES, IgnoreRules

MOST_BYTES = 2 * 1024**3
COMPRESSION = 3  # code is small; what is large is seldom text
IN_MEMORY_BYTES = 8 * 1024 * 1024


class SourceTooLarge(CommandFailed):
    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds more than {byte_size(MOST_BYTES)}: list what is no code in "
            ".amlignore, or name a smaller folder in source_directory",
            code="too_large",
        )


@dataclass(frozen=True)
class SourceFile:
    path: Path
    name: str  # relative to the source folder, with slashes


def pack(folder: Path) -> tempfile.SpooledTemporaryFile[bytes]:
    """Return the folder as an open .tar.gz file, read from its start.

    Links to files are sent as what they lead to; links to folders are left out.
    Raises SourceTooLarge, and CommandFailed for a file that cannot be read.
    """
    archive = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115 -- the caller's
    total_bytes = 0
    with tarfile.open(
        fileobj=archive, mode="w:gz", compresslevel=COMPRESSION, dereference=True
    ) as tar:
        for file in source_files(folder):
            try:
                total_bytes += file.path.stat().st_size
                if total_bytes > MOST_BYTES:
                    raise SourceTooLarge(folder)
                tar.add(file.path, file.name, recursive=False)
            except OSError as error:
                raise CommandFailed(f"{file.path} cannot be sent: {error.strerror}") from error
    archive.seek(0)
    return archive


def source_files(folder: Path) -> Iterator[SourceFile]:
    """Yield the files that are the job's code, in the order of their names."""
    rules = _rules(folder)
    for current, folders, files in os.walk(folder):
        here = Path(current)
        inside = here.relative_to(folder).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        kept = [
            name for name in sorted(folders) if not rules.ignores(prefix + name, is_folder=True)
        ]
        for name in [name for name in kept if (here / name).is_symlink()]:
            say(f"left out: {here / name} is a link to a folder")
            kept.remove(name)
        folders[:] = kept
        for name in sorted(files):
            path = here / name
            if not rules.ignores(prefix + name, is_folder=False) and path.is_file():
                yield SourceFile(path, prefix + name)


def _rules(folder: Path) -> IgnoreRules:
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file():
            return IgnoreRules(file.read_text("utf-8", "replace").splitlines())
    return IgnoreRules(())
