"""Walk folders, globs and lists of files as a stream, in byte order.

Only names are read, no file is looked at: a ``stat`` per file would cost more
than everything else. Names that begin with a dot are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

GLOB_MARKS = frozenset(b"*?[")
DOT = ord(".")
SLASH = b"/"
LEFT_OUT = b""  # sorts before every name
REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://|dataset:|datastore:", re.IGNORECASE)


class InputUnreadable(Exception):
    """A path cannot be listed; ``path`` and the system's message say which and why."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message
        super().__init__(f"{path}: {message}")


def list_files(paths: Sequence[str], *, is_allowed: Callable[[str], bool]) -> Iterator[bytes]:
    """Yield the absolute paths of all files, in the order of ``paths``, below one
    by path in byte order. Raises InputUnreadable.

    ``is_allowed`` says of a link's target whether it may be read; other links
    are left out, as are loops.
    """
    for path in paths:
        if REMOTE.match(path):
            raise InputUnreadable(path, "this kind of input cannot be read by this version")
        yield from _list_one(os.fsencode(path), is_allowed)


def _list_one(path: bytes, is_allowed: Callable[[str], bool]) -> Iterator[bytes]:
    absolute = os.path.abspath(path)
    if os.path.isdir(absolute):
        yield from _Walk(is_allowed).walk(absolute)
    elif _is_item(absolute):
        yield absolute
    elif os.path.exists(absolute):
        raise InputUnreadable(os.fsdecode(absolute), "is neither a file nor a folder")
    elif not GLOB_MARKS.isdisjoint(path):
        yield from _list_glob(absolute, is_allowed)
    else:
        raise InputUnreadable(os.fsdecode(absolute), "no such file or folder")


def _list_glob(pattern: bytes, is_allowed: Callable[[str], bool]) -> Iterator[bytes]:
    parts = pattern.split(SLASH)
    fixed = next(n for n, part in enumerate(parts) if not GLOB_MARKS.isdisjoint(part))
    folder = SLASH.join(parts[:fixed]) or SLASH
    rest = parts[fixed:]
    if not os.path.isdir(folder):
        raise InputUnreadable(os.fsdecode(folder), "no such folder")
    depth = None if b"**" in rest else len(rest)
    matches = re.compile(_glob_expression(rest), re.DOTALL).fullmatch
    start = len(folder.rstrip(SLASH)) + 1
    for path in _Walk(is_allowed, depth).walk(folder):
        if matches(path, start):
            yield path


def _glob_expression(parts: Sequence[bytes]) -> bytes:
    expression = b""
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == b"**":
            expression += b".*" if is_last else b"(?:[^/]+/)*"
        else:
            expression += _part_expression(part) + (b"" if is_last else b"/")
    return expression


def _part_expression(part: bytes) -> bytes:
    """Translate one part of a glob; ``[!a]`` and a ``]`` at the first place as in a shell."""
    text, out, at = part.decode("latin-1"), "", 0
    while at < len(text):
        char = text[at]
        at += 1
        end = text.find("]", at + 1) if char == "[" else -1
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif end > 0:
            inside = text[at:end].replace("\\", "\\\\").replace("[", "\\[")
            out += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            at = end + 1
        else:
            out += re.escape(char)
    return out.encode("latin-1")


class _Walk:
    def __init__(self, is_allowed: Callable[[str], bool], depth: int | None = None) -> None:
        self._is_allowed = is_allowed
        self._depth = depth  # levels to look at; None: all
        self._has_special = False  # the folder being read holds folders or links

    def walk(
        self, folder: bytes, level: int = 1, above: frozenset[str] = frozenset()
    ) -> Iterator[bytes]:
        """Yield the files below ``folder``, given absolute. Holds the names of one
        folder a level in memory."""
        prefix = folder if folder.endswith(SLASH) else folder + SLASH
        names, has_folders = self._names(folder)
        if not has_folders:
            yield from map(prefix.__add__, names)
            return
        for name in names:
            if name.endswith(SLASH):
                yield from self._walk_inner(prefix + name[:-1], level, above)
            else:
                yield prefix + name

    def _walk_inner(self, folder: bytes, level: int, above: frozenset[str]) -> Iterator[bytes]:
        """Yield what is below a folder found on the way, unless it is too deep or its
        link leads back to where we come from."""
        if self._depth is not None and level >= self._depth:
            return
        if not os.path.islink(folder):
            yield from self.walk(folder, level + 1, above)
            return
        real = os.path.realpath(os.fsdecode(folder))
        is_loop = real in above or _is_below(os.fsdecode(folder), real)
        if not is_loop:
            yield from self.walk(folder, level + 1, above | {real})

    def _names(self, folder: bytes) -> tuple[list[bytes], bool]:
        """Return the names in a folder, those of folders with ``/`` appended: only so
        is their order that of the paths below them. Second, whether there may be any.

        One expression for the many that are plain files: a million are normal."""
        self._has_special = False
        try:
            with os.scandir(folder) as entries:
                names = [
                    self._special_name(entry)
                    if entry.is_symlink() or not entry.is_file()
                    else entry.name
                    for entry in entries
                    if entry.name[0] != DOT
                ]
        except OSError as error:
            message = error.strerror or str(error)
            raise InputUnreadable(os.fsdecode(folder), message) from None
        names.sort()
        has_folders = self._has_special  # links to files may be all, that costs little
        if has_folders:
            del names[: names.count(LEFT_OUT)]
        return names, has_folders

    def _special_name(self, entry: os.DirEntry[bytes]) -> bytes:
        """Return the name of what is no plain file; LEFT_OUT for a link not to be
        followed, and for a pipe, socket or device, which who reads it waits for."""
        self._has_special = True
        if entry.is_symlink() and not self._may_follow(entry.path):
            return LEFT_OUT
        if entry.is_dir():
            return entry.name + SLASH
        return entry.name if _is_item(entry.path) else LEFT_OUT

    def _may_follow(self, path: bytes) -> bool:
        return self._is_allowed(os.path.realpath(os.fsdecode(path)))


def _is_item(path: bytes) -> bool:
    """Return whether there is a file. A link to nothing counts: reading it tells the user."""
    return os.path.isfile(path) or (os.path.islink(path) and not os.path.exists(path))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
