"""What went wrong in the user's code: for the report, and for logs/user/error.

A traceback begins in their code, as in a plain script. A kind of error (types and
the places in their code) is told in full once a process, later ones refer to it.
"""

from __future__ import annotations

import linecache
import os
import sys
import time
import traceback
import zlib

from .segment import open_for_append, write_all
from .streams import Streams
from .system_log import Clock

LONGEST_CHAIN = 20
MOST_FRAMES = 60
LONGEST_MESSAGE = 10000
LONGEST_TRACEBACK = 64 * 1024
CHILD_OUTPUT_BYTES = 64 * 1024
MOST_KINDS = 10000

# Files whose frames stand between us and the script and say nothing to its author.
_OUR_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_BETWEEN = ("cProfile.py", "profile.py", os.path.join("importlib", "__init__.py"))


class ErrorBook:
    """Describes errors as wire.ERROR and writes them to the user's error file."""

    def __init__(self, path: str, work_dir: str, streams: Streams) -> None:
        self.descriptor = open_for_append(path)
        self._work_dir = os.path.join(os.path.realpath(work_dir), "")
        self._streams = streams
        self._is_user_file: dict[str, bool] = {}
        self._seen: dict[tuple, tuple[str, str]] = {}  # kind -> digest, where first
        self._clock = Clock()

    def describe(
        self,
        error: BaseException,
        kind: str,
        index: int | None = None,
        try_number: int | None = None,
        printed_from: tuple[int, int] = (0, 0),
        note: str = "",
    ) -> dict:
        """Return the error as wire.ERROR, and append it to the user's error file."""
        where = "{}()".format(kind) if index is None else _where(index, try_number)
        message = _message(error)
        if note:
            message = "{} ({})".format(message, note)
        told: dict = {
            "index": index,
            "try": try_number,
            "kind": kind,
            "types": [_type_name(type(one)) for one in _chain(error)],
            "message": message[:LONGEST_MESSAGE],
            "frames": [],
            "traceback": None,
            "same_as": None,
            "printed": self._streams.printed_since(printed_from),
        }
        same = self._kind_of(error, kind)
        if same in self._seen:
            told["digest"], first = self._seen[same]
            told["same_as"] = told["digest"]
            text = "{}: {} (as for {})".format(told["types"][0], _shorten(message), first)
        else:
            told["digest"] = _digest(same)
            if len(self._seen) < MOST_KINDS:
                self._seen[same] = told["digest"], where
            told["frames"] = self._frames(error)
            full = user_traceback(error)
            told["traceback"] = full[-LONGEST_TRACEBACK:]
            text = _shorten(full) + (note and note + "\n") + _child_output(error)
        self._write(where, text)
        return told

    def describe_wrong_type(
        self, type_name: str, message: str, index: int, try_number: int, printed_from: tuple
    ) -> dict:
        """Return what run() has returned instead of results, as wire.ERROR."""
        self._write(_where(index, try_number), message)
        return {
            "index": index,
            "try": try_number,
            "kind": "wrong_type",
            "types": [type_name],
            "message": message,
            "frames": [],
            "traceback": None,
            "same_as": None,
            "digest": _digest(("wrong_type", type_name)),
            "printed": self._streams.printed_since(printed_from),
        }

    def _write(self, where: str, text: str) -> None:
        stamp = self._clock.stamp(time.time_ns() // 1000)
        line = "{}|{}|{}\n".format(stamp, where, text.rstrip("\n"))
        try:
            write_all(self.descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            return  # the report carries the error too

    def is_user_file(self, filename: str) -> bool:
        """Whether the file lies in the copy of the user's code."""
        known = self._is_user_file.get(filename)
        if known is None:
            # "<string>" and names of compiled modules are no paths
            known = os.path.isabs(filename) and os.path.realpath(filename).startswith(
                self._work_dir
            )
            self._is_user_file[filename] = known
        return known

    def _kind_of(self, error: BaseException, kind: str) -> tuple:
        """Errors with an equal value are one kind: types, then places in the user's
        code, else the last three places, else the message."""
        chain = _chain(error)
        places = [
            (code.co_filename, code.co_name, line)
            for one in chain
            for code, line, _ in _walk(one)
        ]
        mine = [place for place in places if self.is_user_file(place[0])]
        types = tuple(_type_name(type(one)) for one in chain)
        if not places:
            return (kind, types, _message(error))
        return (kind, types, tuple(mine or places[-3:]))

    def _frames(self, error: BaseException) -> list[list]:
        """Frames of ``error``, the call first; of very many the first and last ones."""
        walked = list(_walk(error))
        if len(walked) > MOST_FRAMES:
            walked = walked[: MOST_FRAMES // 2] + walked[-MOST_FRAMES // 2 :]
        return [
            [
                code.co_filename,
                names.get("__name__") or "",
                code.co_name,
                line,
                linecache.getline(code.co_filename, line, names).strip(),
                self.is_user_file(code.co_filename),
            ]
            for code, line, names in walked
        ]


def user_traceback(error: BaseException) -> str:
    """Return the traceback with its causes, without the frames that lead to the script."""
    whole = traceback.TracebackException.from_exception(error)
    _strip(whole, set())
    return "".join(whole.format())


def _strip(part: traceback.TracebackException, done: set[int]) -> None:
    if id(part) in done:
        return
    done.add(id(part))
    stack = part.stack
    if stack:
        own = [frame.filename for frame in stack]
        stack[:] = stack[_leading(own) :]
    others = [part.__cause__, part.__context__] + list(getattr(part, "exceptions", None) or ())
    for other in others:
        if other is not None:
            _strip(other, done)


def _leading(filenames: list[str]) -> int:
    """Return how many of the first files are not worth showing."""
    for count, filename in enumerate(filenames):
        if not _is_between(filename):
            return count
    return len(filenames)


def _is_between(filename: str) -> bool:
    if filename.startswith((_OUR_FOLDER, "<frozen importlib")):
        return True
    return filename.endswith(_BETWEEN) and filename.startswith(_library_folder())


def _library_folder() -> str:
    return os.path.dirname(os.__file__)


def _walk(error: BaseException):  # type: ignore[no-untyped-def]
    """Yield (code, line, globals) a frame, without the ones that lead to the script."""
    trace = error.__traceback__
    while trace is not None and _is_between(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    while trace is not None:
        yield trace.tb_frame.f_code, trace.tb_lineno, trace.tb_frame.f_globals
        trace = trace.tb_next


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and what caused it, outermost first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < LONGEST_CHAIN:
        if any(current is one for one in chain):
            break
        chain.append(current)
        suppressed = current.__suppress_context__
        current = current.__cause__ or (None if suppressed else current.__context__)
    return chain


def _type_name(kind: type) -> str:
    module = getattr(kind, "__module__", "")
    return kind.__qualname__ if module in ("builtins", "") else module + "." + kind.__qualname__


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # their own __str__ may fail too
        return "<message cannot be read>"


def _shorten(text: str) -> str:
    """Return ``text`` with its middle left out where it is longer than a log should hold."""
    left_out = len(text) - 2 * LONGEST_TRACEBACK
    if left_out <= 0:
        return text
    middle = "\n… {:,} characters left out …\n".format(left_out)
    return text[:LONGEST_TRACEBACK] + middle + text[-LONGEST_TRACEBACK:]


def _where(index: int, try_number: int | None) -> str:
    return "mini-batch {} try {}".format(index, try_number)


def _digest(kind: tuple) -> str:
    """Return 16 hex digits; they tell kinds apart within one process."""
    data = repr(kind).encode("utf-8", "backslashreplace")
    return "{:08x}{:08x}".format(zlib.crc32(data), zlib.crc32(data[::-1]))


def _child_output(error: BaseException) -> str:
    """Return what a failed subprocess.run() had captured, its last part."""
    module = sys.modules.get("subprocess")
    if module is None or not isinstance(error, module.SubprocessError):
        return ""
    parts = []
    for name in ("stdout", "stderr"):
        output = getattr(error, name, None)
        if output:
            if isinstance(output, str):
                output = output.encode("utf-8", "backslashreplace")
            text = output[-CHILD_OUTPUT_BYTES:].decode("utf-8", "replace")
            parts.append("--- its {}:\n{}\n".format(name, text.rstrip("\n")))
    return "".join(parts)
