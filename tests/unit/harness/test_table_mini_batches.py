"""Ranges of bytes of a table as the DataFrames that run() gets."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.harness import wire
from tests.unit.harness.worker_process_driver import WorkerProcess

Make = Callable[..., WorkerProcess]

SHOW = """
def run(rows):
    assert list(rows.index) == list(range(len(rows)))
    return [list(row) for row in rows.itertuples(index=False)]
"""
SHOW_TYPES = (
    "def run(rows):\n    return [[str(kind)[:5] for kind in rows.dtypes]] * len(rows)\n"
)


def write(process: WorkerProcess, text: str, name: str = "people.csv") -> Path:
    path = process.folder / name
    path.write_text(text)
    return path


def lines(process: WorkerProcess) -> list[str]:
    return process.segment().decode().splitlines()


def test_each_range_has_the_columns_of_its_file(make_process: Make) -> None:
    process = make_process(SHOW)
    path = write(process, 'name,"n\nm"\nada,1\n"b\nc",2\neve,3\n')
    process.write_table((path, 11, 25), (path, 25, 31))
    process.start()

    block = process.lease(0, 2)

    assert [record.items for record in block.records] == [2, 1]
    assert lines(process) == ["['ada', 1]", "['b\\nc', 2]", "['eve', 3]"]
    assert f"picked mini-batch 1 try 1 of 3: bytes 25 to 31 of {path}" in process.text(
        "sys.txt"
    )


def test_types_are_those_of_the_first_rows_in_every_mini_batch(make_process: Make) -> None:
    process = make_process(SHOW_TYPES)
    path = write(process, "a,b,c\n1,x,1.5\n2,7,2\n")
    process.write_table((path, 6, 14), (path, 14, 20))
    process.start()

    process.lease(1)

    assert lines(process) in (["['int64', 'objec', 'float']"], ["['int64', 'str', 'float']"])


def test_a_value_that_does_not_fit_leaves_its_column_to_pandas(make_process: Make) -> None:
    process = make_process(SHOW)
    path = write(process, "a,b\n" + "1,2\n" * 1000 + "x,3\n")
    process.write_table((path, 4, 8), (path, 4004, 4008))
    process.start()

    process.lease(1)

    assert lines(process) == ["['x', 3]"]
    warning = next(frame for frame in process.frames if frame.kind == wire.FRAME_WARNING).json
    assert (warning["code"], warning["mini_batch"]) == ("table_types", 1)
    assert warning["text"].startswith("mini-batch 1: column a has values that are no int64")


@pytest.mark.parametrize(
    ("types", "row"),
    [
        ("string", "['01', '2.0', 'x']"),
        ("mixed", "[1, 2.0, 'x']"),
        ({"a": "string", "b": "float"}, "['01', 2.0, 'x']"),
    ],
)
def test_types_can_be_given(make_process: Make, types: object, row: str) -> None:
    process = make_process(SHOW)
    path = write(process, "a,b,c\n01,2.0,x\n")
    process.write_table((path, 6, 15), types=types)
    process.start()

    process.lease(0)

    assert lines(process) == [row]


def test_times_columns_and_the_path(make_process: Make) -> None:
    process = make_process(SHOW)
    path = write(process, "a\tb\tc\n1\t2026-01-31\tx\n", "people.tsv")
    process.write_table(
        (path, 6, 21), types={"b": "datetime"}, columns=["b", "a"], path_column="file"
    )
    process.start()

    block = process.lease(0)

    assert block.errors == []
    assert lines(process) == [f"[Timestamp('2026-01-31 00:00:00'), 1, '{path}']"]


def test_only_the_first_file_may_have_a_header(make_process: Make) -> None:
    process = make_process(
        "def run(rows):\n    return [str(rows.to_dict('list'))] * len(rows)\n"
    )
    first = write(process, "a,b\n1,2\n", "1.csv")
    second = write(process, "3,4\n", "2.csv")
    process.write_table((first, 4, 8), (second, 0, 4), header="first_file")
    process.start()

    process.lease(1)
    process.lease(0)

    assert lines(process) == ["{'a': [3], 'b': [4]}", "{'a': [1], 'b': [2]}"]


def test_without_a_header_columns_are_numbered(make_process: Make) -> None:
    process = make_process("def run(rows):\n    return [list(rows.columns)] * len(rows)\n")
    path = write(process, "1;x\n2;y\n")
    process.write_table((path, 4, 8), header="none", delimiter=";")
    process.start()

    process.lease(0)

    assert lines(process) == ["['Column1', 'Column2']"]


def test_cuts_at_any_byte_give_each_line_to_one_mini_batch(make_process: Make) -> None:
    text = "name,n\n" + "".join(f"person{number},{number}\n" for number in range(20))
    process = make_process("def run(rows):\n    return list(rows.name)\n")
    path = write(process, text)
    size = len(text)
    cuts = [(path, start, min(start + 7, size)) for start in range(0, size, 7)]
    process.write_table(*cuts, quoted_newlines=False)
    process.start()

    block = process.lease(0, len(cuts))

    assert lines(process) == [f"person{number}" for number in range(20)]
    assert sum(record.items for record in block.records) == 20
    empty = [record for record in block.records if not record.items]
    assert empty
    assert {record.outcome for record in empty} == {wire.OUTCOME_SUCCEEDED}


def test_compressed_text_is_one_mini_batch(make_process: Make) -> None:
    process = make_process(SHOW)
    path = process.folder / "people.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    process.write_table((path, 0, path.stat().st_size))
    process.start()

    process.lease(0)

    assert lines(process) == ["[1, 2]", "[3, 4]"]


def test_json_lines_are_rows_too(make_process: Make) -> None:
    process = make_process(SHOW)
    path = write(process, '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', "people.jsonl")
    process.write_table((path, 19, 38))
    process.start()

    process.lease(0)

    assert lines(process) == ["[2, 'y']"]


def test_a_byte_order_mark_is_no_part_of_the_first_name(make_process: Make) -> None:
    process = make_process("def run(rows):\n    return list(rows['a'])\n")
    path = process.folder / "people.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    process.write_table((path, 7, 11))
    process.start()

    process.lease(0)

    assert lines(process) == ["1"]


def test_a_file_that_cannot_be_read_fails_the_load(make_process: Make) -> None:
    process = make_process(SHOW)
    good = write(process, "a\n1\n")
    process.write_table((good, 2, 4), (process.folder / "gone.csv", 0, 9))
    process.start()

    block = process.lease(0, 2)

    assert block.records[1][2:7] == (wire.OUTCOME_TRY_FAILED, wire.LOAD_EXCEPTION, 1, 0, 0)
    (error,) = block.errors
    assert error["kind"] == "load"
    assert "gone.csv" in error["message"]
    assert "its rows are not known: counted as 1 item" in error["message"]
    assert lines(process) == ["[1]"]


def test_an_environment_without_pandas_is_named_before_any_mini_batch(
    make_process: Make,
) -> None:
    process = make_process(SHOW)
    process.write_script("raise ImportError('no pandas here')\n", "hidden/pandas.py")
    process.write_table()
    process.start({"PYTHONPATH": str(process.folder / "work" / "hidden")})

    told = process.read_until(wire.FRAME_INIT_FAILED).json

    assert told["error"]["message"] == (
        "input people is a table, and pandas cannot be imported in the job's environment "
        "(no pandas here); add pandas to its requirements"
    )


def test_the_context_holds_the_rows_of_a_table(make_process: Make) -> None:
    process = make_process(
        "def run(rows, context):\n"
        "    again = context.dataset.to_pandas_dataframe()\n"
        "    assert again.equals(rows) and again is not rows and len(context.dataset) == 1\n"
        "    return [repr(context.dataset)]\n"
    )
    path = write(process, "a,b\n1,2\n")
    process.write_table((path, 4, 8))
    process.start()

    process.lease(0)

    assert lines(process) == ["<1 rows: a, b>"]


def test_a_file_in_utf_16_is_read_whole(make_process: Make) -> None:
    process = make_process(SHOW)
    path = process.folder / "people.csv"
    path.write_bytes("a,b\n1,ਊ\n2,é\n".encode("utf-16"))
    process.write_table((path, 0, path.stat().st_size), encoding="utf-16", is_whole=True)
    process.start()

    block = process.lease(0)

    assert [record.items for record in block.records] == [2]
    assert lines(process) == ["[1, 'ਊ']", "[2, 'é']"]


def test_a_fault_in_the_first_rows_fails_only_its_own_mini_batch(make_process: Make) -> None:
    process = make_process(SHOW_TYPES)
    rows = "1,2\n" * 100
    path = write(process, "a,b\n" + rows + '"3,4\n' + rows)
    process.write_table((path, 404, 809), (path, 4, 404))
    process.start()

    failed = process.lease(0)
    passed = process.lease(1)

    (error,) = failed.errors
    assert error["message"].startswith(f"bytes 404 to 809 of {path}: ParserError: ")
    assert error["frames"] == []
    assert [record.succeeded for record in passed.records] == [100]
    assert set(lines(process)) == {"['int64', 'int64']"}
