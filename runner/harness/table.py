"""Rows of a table as a pandas.DataFrame: a range of bytes of a text file.

Source: "Tables" of the ParallelRunStep page.
"""

from __future__ import annotations

import importlib
import io
import json
import os

from .manifest import Manifest

SAMPLE_ROWS = 1000
PIECE_ROWS = 50  # of the sample, where a fault is looked for
PIECE_BYTES = 64 * 1024
DTYPES = {"int": "int64", "float": "float64", "bool": "bool", "string": "str"}
FITTING_KINDS = {"int64": "iu", "float64": "iuf", "bool": "b"}
OPENERS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}  # modules
FORMATS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


class TableOptionInvalid(ValueError):
    """A table option that this harness does not read."""


class TableUnreadable(ValueError):
    """No rows can be made of what stands in the file; says where, and what the reader said."""


class TableRange:
    """Where the rows of one mini-batch stand."""

    def __init__(self, entry: bytes) -> None:
        raw = json.loads(entry.decode("utf-8"))
        self.path: str = raw["path"]
        self.start: int = raw["start"]
        self.end: int = raw["end"]
        self.is_whole: bool = raw.get("whole", False)

    def __str__(self) -> str:
        return "bytes {} to {} of {}".format(self.start, self.end, self.path)


class TableReader:
    """Reads the mini-batches of one input. Types are decided once for all of them, from
    the first rows of its first file, so every process decides the same."""

    def __init__(self, options: dict, input_number: int, manifest: Manifest) -> None:
        import pandas

        self._pandas = pandas
        self._options = options
        self._number = input_number
        self._manifest = manifest
        self._header = options.get("header", "every_file")
        self._encoding: str = options.get("encoding") or "utf-8"
        self._dtypes: dict[str, str] | None = None  # not decided yet
        self._dates: list[str] = []
        self._first_path = ""
        self._kept_header: bytes | None = None
        self._source: _Source | None = None
        self.warnings: list[str] = []  # of the last read
        if options.get("format") not in (None, "csv", "tsv", "jsonl"):
            raise TableOptionInvalid(
                "table format {} cannot be read yet; csv, tsv and jsonl can".format(
                    options["format"]
                )
            )

    def read(self, where: TableRange, index: int):  # type: ignore[no-untyped-def]
        """Return the rows in ``where``, maybe none, with a fresh index from 0.

        ``warnings`` then names the columns whose values do not fit the input's types.
        Raises TableUnreadable, and OSError that names the file.
        """
        try:
            return self._read(where, index)
        except (MemoryError, TableOptionInvalid):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.filename:
                raise
            kind = type(error).__name__
            raise TableUnreadable("{}: {}: {}".format(where, kind, error)) from None

    def _read(self, where: TableRange, index: int):  # type: ignore[no-untyped-def]
        self.warnings = []
        if self._dtypes is None:
            self._decide_types(index)
        source = self._use(where.path, where.is_whole)
        data = self._bytes(source, where)
        frame = self._parse(data, source) if data else self._pandas.DataFrame()
        columns = self._options.get("columns")
        if columns and data:
            frame = frame[columns]
        if self._options.get("path_column") and data:
            frame = frame.assign(**{self._options["path_column"]: where.path})
        return frame

    def _use(self, path: str, is_whole: bool) -> _Source:
        source = self._source
        if source is None or path != source.path:
            self._source = None
            if source is not None:
                source.close()
            source = self._source = _Source(path, self._encoding, is_whole)
        return source

    def _bytes(self, source: _Source, where: TableRange) -> bytes:
        first = source.header_end() if self._has_header(where.path) else 0
        start, end = max(where.start, first), where.end
        if where.is_whole:
            end = source.size
        elif not self._options.get("quoted_newlines", True):
            start = source.line_start(start, first)
            end = source.line_start(end, first)
        return source.read(start, end) if start < end else b""

    def _has_header(self, path: str) -> bool:
        if self._format(path) == "jsonl" or self._header == "none":
            return False
        return self._header == "every_file" or path == self._first_path

    def _format(self, path: str) -> str:
        given = self._options.get("format")
        if given:
            return str(given)
        stem, extension = os.path.splitext(path)
        if extension in OPENERS:
            extension = os.path.splitext(stem)[1]
        return FORMATS.get(extension.lower(), "csv")

    def _parse(self, data: bytes, source: _Source):  # type: ignore[no-untyped-def]
        if self._format(source.path) == "jsonl":
            frame = self._pandas.read_json(
                io.BytesIO(data),
                lines=True,
                convert_dates=False,
                precise_float=True,
                encoding=source.encoding,
            )
            return self._fit(frame)
        header = b""
        if self._header == "every_file":
            header = source.header()
        elif self._header == "first_file":
            header = self._first_header(source.encoding)
        options = self._csv_options(source.path)
        options["encoding"] = source.encoding
        if self._header == "none":
            options["names"] = self._numbered_names(data, options)
        options["parse_dates"] = [name for name in self._dates if self._is_kept(name)]
        texts = {
            name: kind for name, kind in (self._dtypes or {}).items() if self._is_kept(name)
        }
        try:
            return self._check_dates(
                self._pandas.read_csv(io.BytesIO(header + data), dtype=texts, **options)
            )
        except (ValueError, OverflowError):
            texts = {name: kind for name, kind in texts.items() if kind == "str"}
            frame = self._pandas.read_csv(io.BytesIO(header + data), dtype=texts, **options)
            return self._check_dates(self._fit(frame))

    def _csv_options(self, path: str) -> dict:
        is_tabs = self._format(path) == "tsv"
        return {
            "sep": self._options.get("delimiter") or ("\t" if is_tabs else ","),
            "encoding": self._encoding,
            "header": None if self._header == "none" else 0,
            "index_col": False,
            "low_memory": False,  # else a column's type may change within the mini-batch
            "usecols": self._options.get("columns"),
        }

    def _is_kept(self, name: str) -> bool:
        columns = self._options.get("columns")
        return not columns or name in columns

    def _numbered_names(self, data: bytes, options: dict) -> list[str]:
        first = self._pandas.read_csv(
            io.BytesIO(data),
            nrows=1,
            header=None,
            sep=options["sep"],
            encoding=options["encoding"],
        )
        return ["Column{}".format(number + 1) for number in range(len(first.columns))]

    def _first_header(self, encoding: str) -> bytes:
        """Return it in ``encoding``: the first file may be one that is read as a whole."""
        if self._kept_header is None:
            first = _Source(self._first_path, self._encoding, encoding != self._encoding)
            self._kept_header = first.header()
            first.close()
        return self._kept_header

    def _decide_types(self, index: int) -> None:
        """Set the types of the columns, from the options and the first rows of the input."""
        types = self._options.get("types", "infer")
        entry = self._manifest.read_first_of_input(self._number, index)
        self._first_path = TableRange(entry).path
        given = types if isinstance(types, dict) else {}
        dtypes: dict[str, str] = {}
        if types != "mixed":
            sample = self._sample()
            for name in sample.columns:
                kind = "str" if types == "string" else _dtype_of(sample[name])
                if kind:
                    dtypes[name] = kind
        self._dates = [name for name, kind in given.items() if kind == "datetime"]
        for name, kind in given.items():
            dtypes.pop(name, None)
            if kind != "datetime":
                dtypes[name] = DTYPES[kind]
        self._dtypes = dtypes  # last: a process whose sample failed decides once more

    def _sample(self):  # type: ignore[no-untyped-def]
        """Return the first rows; of a file that cannot be read so far, those before the
        fault, so that only the mini-batch that has it fails."""
        try:
            return self._first_rows(SAMPLE_ROWS)
        except (ValueError, EOFError):
            pieces = self._first_rows(SAMPLE_ROWS, PIECE_ROWS)
            rows = list(_until_fault(pieces))
            return self._pandas.concat(rows) if rows else self._pandas.DataFrame()

    def _first_rows(self, count: int, piece: int | None = None):  # type: ignore[no-untyped-def]
        path = self._first_path
        if self._format(path) == "jsonl":
            return self._pandas.read_json(
                path,
                lines=True,
                nrows=count,
                chunksize=piece,
                convert_dates=False,
                encoding=self._encoding,
            )
        options = self._csv_options(path)
        sample = self._pandas.read_csv(path, nrows=count, chunksize=piece, **options)
        if piece is None and self._header == "none":
            sample.columns = ["Column{}".format(at + 1) for at in range(len(sample.columns))]
        return sample

    def _fit(self, frame):  # type: ignore[no-untyped-def]
        """Give each column its type; one that does not fit stays as pandas has read it."""
        for name, wanted in (self._dtypes or {}).items():
            if name not in frame.columns or wanted == "str":
                continue
            found = frame[name].dtype
            if found.kind in FITTING_KINDS[wanted]:
                frame[name] = frame[name].astype(wanted)
            else:
                self.warnings.append(
                    "column {} has values that are no {}; read as {}".format(
                        name, wanted, found
                    )
                )
        return frame

    def _check_dates(self, frame):  # type: ignore[no-untyped-def]
        for name in self._dates:
            if name in frame.columns and frame[name].dtype.kind != "M":
                self.warnings.append("column {} has values that are no time".format(name))
        return frame


class _Source:
    """One file of a table, as bytes; compressed text is unpacked whole, and text whose
    bytes tell no line ends (``is_whole``, as UTF-16 is) is made UTF-8."""

    def __init__(self, path: str, encoding: str, is_whole: bool) -> None:
        self.path = path
        self.encoding = encoding  # of the bytes that ``read`` gives
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._unpacked: bytes | None = None
        self._header_end = -1
        opener = OPENERS.get(os.path.splitext(path)[1].lower())
        if opener is None and not is_whole:
            self.size = os.fstat(self._descriptor).st_size
            return
        try:
            with open(self._descriptor, "rb", closefd=False) as file:
                content = file.read()
            if opener is not None:
                content = importlib.import_module(opener).decompress(content)
            if is_whole:
                self.encoding = "utf-8"
                content = content.decode(encoding).encode("utf-8", "surrogatepass")
        except BaseException:
            self.close()
            raise
        self._unpacked = content
        self.size = len(content)

    def close(self) -> None:
        os.close(self._descriptor)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` up to ``end``, fewer at the file's end."""
        if self._unpacked is not None:
            return self._unpacked[start:end]
        data = os.pread(self._descriptor, end - start, start)
        while 0 < len(data) < end - start:
            more = os.pread(self._descriptor, end - start - len(data), start + len(data))
            if not more:
                break
            data += more
        return data

    def header(self) -> bytes:
        """Return the first record with its line end."""
        return self.read(0, self.header_end())

    def header_end(self) -> int:
        """Return where the first record ends. A line end inside quotes ends none."""
        if self._header_end < 0:
            self._header_end = self._find_header_end()
        return self._header_end

    def _find_header_end(self) -> int:
        size = PIECE_BYTES
        while True:
            data = self.read(0, size)
            at = data.find(b"\n")
            while at >= 0:
                if data.count(b'"', 0, at) % 2 == 0:
                    return at + 1
                at = data.find(b"\n", at + 1)
            if len(data) < size:
                return self.size
            size *= 4

    def line_start(self, at: int, first: int) -> int:
        """Return the first line start at or after ``at``; ``first`` is the first of all."""
        if at <= first or at >= self.size:
            return first if at <= first else self.size
        at -= 1  # a line end just before makes ``at`` itself a line start
        while at < self.size:
            data = self.read(at, at + PIECE_BYTES)
            found = data.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(data)
        return self.size


def _until_fault(pieces):  # type: ignore[no-untyped-def]
    """Yield the pieces of rows up to the first that cannot be read."""
    try:
        yield from pieces
    except (ValueError, EOFError):
        return


def _dtype_of(column) -> str:  # type: ignore[no-untyped-def]
    """Return the dtype to read the column with; empty when its values decide nothing."""
    if column.isna().all():
        return ""
    kind = column.dtype.kind
    return {"i": "int64", "f": "float64", "b": "bool"}.get(kind, "" if kind == "u" else "str")
