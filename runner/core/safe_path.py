"""The one place where a path from outside becomes a path on the disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

NAME_LIMIT_BYTES = 255  # of one name in a path, on every file system we meet


class UnsafePath(ValueError):
    """The path leads out of its root, or names nothing that may be read.

    The message names the path as it was given, never where it led.
    """


def resolve_inside(root: Path, relative: str) -> Path:
    """Return ``relative`` below ``root`` with all links followed.

    A link may lead anywhere inside ``root``. Raises UnsafePath for an absolute
    path, ``..``, a NUL, and a link that leaves. The path need not exist.
    """
    if not relative or "\0" in relative or relative.startswith("/"):
        raise UnsafePath(f"not a path below the folder: {relative!r}")
    if any(len(os.fsencode(part)) > NAME_LIMIT_BYTES for part in relative.split("/")):
        raise UnsafePath(f"a name in it is longer than {NAME_LIMIT_BYTES} bytes")
    if ".." in relative.split("/"):
        raise UnsafePath(f"may not contain '..': {relative!r}")
    try:
        real_root = root.resolve(strict=True)
        resolved = (real_root / relative).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UnsafePath(f"cannot be followed: {relative!r}") from error
    if not resolved.is_relative_to(real_root):
        raise UnsafePath(f"leads out of its folder: {relative!r}")
    return resolved


def open_inside(root: Path, relative: str) -> BinaryIO:
    """Open the regular file ``relative`` below ``root`` for reading.

    Opened folder by folder without following links, for whoever owns the
    folder may put a link there between the look and the open. Raises
    FileNotFoundError, PermissionError, and UnsafePath also for a folder, a
    device or a pipe (opening one would wait for its other end).
    """
    resolved = resolve_inside(root, relative)
    real_root = root.resolve()
    folder = os.open(real_root, os.O_RDONLY | os.O_DIRECTORY)
    *folders, name = resolved.relative_to(real_root).parts or (".",)
    try:
        for part in folders:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        raise UnsafePath(f"cannot be opened: {relative!r}") from error
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UnsafePath(f"is not a file: {relative!r}")
    return os.fdopen(file, "rb")


def is_below(path: Path, roots: Iterable[Path]) -> bool:
    """Whether ``path``, links followed, is one of ``roots`` or lies below one."""
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(resolved.is_relative_to(root) for root in roots)
