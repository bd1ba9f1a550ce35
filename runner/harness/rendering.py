"""Results as the bytes that stand in the output file.

A row of named columns comes without a header: ``columns`` says which names the last
rendered rows have, and assembly writes the header once.
Source: "Output" of the ParallelRunStep page.
"""

from __future__ import annotations

import io
import json

from .results import FRAME, ITEMS, MATRIX, SERIES

MIXED_LINES = (
    "{} of {} results of mini-batch {} have line breaks in them, so the output has more lines "
    "than results; use format csv or jsonl"
)


class FormatUnsupported(ValueError):
    """An output format this harness does not write."""


class TextRows:
    """``str(item)`` and a line end each; DataFrames by to_csv."""

    default_sep = " "

    def __init__(self, output: dict) -> None:
        self.columns: list[str] | None = None
        self.warning = ""  # about the last rendered rows
        self._sep = output.get("sep", self.default_sep)
        self._index = bool(output.get("index", False))
        self._to_csv = dict(output.get("to_csv") or {})

    def render(self, kind: str, result, count: int, index: int) -> bytes:  # type: ignore[no-untyped-def]
        """Return the rows of ``result``; empty for no results."""
        self.warning = ""
        if kind is FRAME or kind is MATRIX:
            return self._render_frame(kind, result)
        self.columns = None
        return self._render_items(result, count, index) if count else b""

    def _render_items(self, result, count: int, index: int) -> bytes:  # type: ignore[no-untyped-def]
        text = "\n".join(map(str, result)) + "\n"
        if text.count("\n") != count:
            broken = sum("\n" in str(item) for item in result)
            self.warning = MIXED_LINES.format(broken, count, index)
        return encode(text)

    def _render_frame(self, kind: str, result) -> bytes:  # type: ignore[no-untyped-def]
        frame = _as_frame(result) if kind is MATRIX else result
        if frame is None:  # a numpy without pandas
            return self._render_matrix(result)
        options = dict(self._to_csv)
        line_end = options.pop("lineterminator", "\n")
        self.columns = _column_names(frame, self._index, options)
        options[_line_end_name()] = line_end
        return encode(frame.to_csv(sep=self._sep, header=False, index=self._index, **options))

    def _render_matrix(self, result) -> bytes:  # type: ignore[no-untyped-def]
        self.columns = [str(number) for number in range(result.shape[1])]
        rows = result.tolist()
        if self._index:
            self.columns.insert(0, "")
            rows = [[number] + row for number, row in enumerate(rows)]
        return _csv_bytes(rows, self._sep)


class CsvRows(TextRows):
    """Fields with quotes where needed."""

    default_sep = ","

    def _render_items(self, result, count: int, index: int) -> bytes:  # type: ignore[no-untyped-def]
        items = list(result)
        if any(isinstance(item, dict) for item in items):
            return self._render_dicts(items)
        return _csv_bytes([_fields(item) for item in items], self._sep)

    def _render_dicts(self, items: list) -> bytes:
        """Rows of the union of the keys, in the order of first appearance."""
        rows = [item if isinstance(item, dict) else {"result": item} for item in items]
        keys = list(dict.fromkeys(key for row in rows for key in row))
        self.columns = [str(key) for key in keys]
        return _csv_bytes([[row.get(key) for key in keys] for row in rows], self._sep)


class JsonRows:
    """One JSON value a line."""

    columns = None
    warning = ""

    def render(self, kind: str, result, count: int, index: int) -> bytes:  # type: ignore[no-untyped-def]
        """Return the rows of ``result``; empty for no results."""
        if kind is FRAME:
            names = [str(name) for name in result.columns]
            columns = [result.iloc[:, at].tolist() for at in range(len(names))]
            rows = [dict(zip(names, row)) for row in zip(*columns)] if names else [{}] * count
        elif kind is ITEMS or kind is SERIES:
            rows = list(result)
        else:
            rows = result.tolist()
        lines = [json.dumps(plain(row), ensure_ascii=False, allow_nan=False) for row in rows]
        return encode("\n".join(lines) + "\n") if lines else b""


class NoRows:
    """Results are counted only (summary_only)."""

    columns = None
    warning = ""

    def render(self, kind: str, result, count: int, index: int) -> bytes:  # type: ignore[no-untyped-def]
        return b""


def make_rows(output_action: str, output: dict) -> TextRows | JsonRows | NoRows:
    """Return what renders the job's format. Raises FormatUnsupported."""
    if output_action == "summary_only":
        return NoRows()
    name = output.get("format", "text")
    if name == "text":
        return TextRows(output)
    if name == "csv":
        return CsvRows(output)
    if name == "jsonl":
        return JsonRows()
    raise FormatUnsupported(
        "output format {} cannot be written yet; text, csv and jsonl can".format(name)
    )


def encode(text: str) -> bytes:
    """Return UTF-8; a file name that is none comes out as its own bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def plain(value):  # type: ignore[no-untyped-def]
    """Return ``value`` as JSON can hold it: NaN and NaT become null, times ISO 8601."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None  # NaN and the infinities
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if hasattr(value, "isoformat"):
        return None if _is_missing(value) else value.isoformat()
    if hasattr(value, "tolist"):
        return plain(value.tolist())  # numpy arrays and scalars
    return None if _is_missing(value) else str(value)


def _is_missing(value) -> bool:  # type: ignore[no-untyped-def]
    return type(value).__name__ in ("NAType", "NaTType")


def _fields(item) -> list:  # type: ignore[no-untyped-def]
    if isinstance(item, (list, tuple)):
        return list(item)
    if getattr(item, "ndim", 0):
        return list(item.tolist())  # a Series, or a row of an array
    return [item]


def _csv_bytes(rows: list, sep: str) -> bytes:
    import csv  # half a millisecond that most jobs need not pay at each start

    file = io.StringIO()
    csv.writer(file, delimiter=sep, lineterminator="\n").writerows(rows)
    return encode(file.getvalue())


def _as_frame(array):  # type: ignore[no-untyped-def]
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(array)


def _line_end_name() -> str:
    import pandas  # here already: a frame exists

    version = tuple(int(part) for part in pandas.__version__.split(".")[:2])
    return "lineterminator" if version >= (1, 5) else "line_terminator"


def _column_names(frame, has_index: bool, options: dict) -> list[str]:  # type: ignore[no-untyped-def]
    """Return the names that to_csv would write on top."""
    names = [str(name) for name in options.get("columns") or frame.columns]
    if not has_index:
        return names
    label = options.get("index_label")
    if label is None:
        label = ["" if name is None else str(name) for name in frame.index.names]
    return ([label] if isinstance(label, str) else list(label)) + names
