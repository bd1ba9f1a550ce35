"""What run() returns, as it stands in the segment, by format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from runner.harness import wire
from tests.unit.harness.worker_process_driver import WorkerProcess

Make = Callable[..., WorkerProcess]

SETUP = """
import datetime, numpy, pandas
frame = pandas.DataFrame({"name": ["a b", "c"], "n": [1.5, None]})
def run(mini_batch):
    return """


def run(make_process: Make, returned: str, **output: Any) -> WorkerProcess:
    """Run one mini-batch of two items whose results are ``returned``."""
    process = make_process(SETUP + returned + "\n", output=output)
    process.write_files(["/a", "/b"])
    process.start()
    (record,) = process.lease(0).records
    assert record.status == wire.RUN_DONE
    assert record.length == len(process.segment())
    return process


@pytest.mark.parametrize(
    ("returned", "rows"),
    [
        ("['x', 5]", "x\n5\n"),
        ("(None, 1.5)", "None\n1.5\n"),
        ("[{'k': 1}, [2]]", "{'k': 1}\n[2]\n"),
        ("pandas.Series([1, 2])", "1\n2\n"),
        ("numpy.array([1.5, 2])", "1.5\n2.0\n"),
        ("frame", '"a b" 1.5\nc \n'),
        ("numpy.array([[1, 2], [3, 4]])", "1 2\n3 4\n"),
        ("[]", ""),
        ("frame.head(0)", ""),
    ],
)
def test_rows_of_text(make_process: Make, returned: str, rows: str) -> None:
    assert run(make_process, returned, format="text").segment().decode() == rows


@pytest.mark.parametrize(
    ("returned", "rows"),
    [
        ("['a,b', 5]", '"a,b"\n5\n'),
        ("[('a', 1), ['b', None]]", "a,1\nb,\n"),
        ("[{'k': 1, 'l': 2}, {'m': 3, 'k': 4}]", "1,2,\n4,,3\n"),
        ("frame", "a b,1.5\nc,\n"),
        ("numpy.array([[1, 2], [3, 4]])", "1,2\n3,4\n"),
        ("[row for _, row in frame.iterrows()]", "a b,1.5\nc,nan\n"),
        ("pandas.Series(['a', 'b'])", "a\nb\n"),
    ],
)
def test_rows_of_csv(make_process: Make, returned: str, rows: str) -> None:
    assert run(make_process, returned, format="csv", header=True).segment().decode() == rows


@pytest.mark.parametrize(
    ("returned", "rows"),
    [
        ("frame", [{"name": "a b", "n": 1.5}, {"name": "c", "n": None}]),
        ("[{'k': float('nan')}, 'ä']", [{"k": None}, "ä"]),
        ("[[1, (2,)], None]", [[1, [2]], None]),
        ("numpy.array([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
        ("[numpy.float32(0.5), numpy.int64(3)]", [0.5, 3]),
        (
            "[pandas.Timestamp('2026-01-31 09:15'), datetime.date(2026, 1, 31)]",
            ["2026-01-31T09:15:00", "2026-01-31"],
        ),
        ("[pandas.NaT, pandas.NA]", [None, None]),
    ],
)
def test_rows_of_json_lines(make_process: Make, returned: str, rows: list[Any]) -> None:
    lines = run(make_process, returned, format="jsonl").segment().decode().splitlines()

    assert [json.loads(line) for line in lines] == rows


def test_separator_index_and_further_options_are_those_of_the_job(make_process: Make) -> None:
    process = run(
        make_process,
        "frame",
        format="csv",
        sep=";",
        index=True,
        to_csv={"na_rep": "-", "index_label": "row", "decimal": ","},
    )

    assert process.segment() == b"0;a b;1,5\n1;c;-\n"
    assert process.columns() == [{"offset": 0, "columns": ["row", "name", "n"]}]


def test_columns_are_noted_once_and_again_when_they_change(make_process: Make) -> None:
    process = make_process(
        "import pandas\n"
        "def run(mini_batch):\n"
        "    name = mini_batch[0][1]\n"
        "    return mini_batch if name == 'x' else pandas.DataFrame({name: [1]})\n",
        output={"format": "csv", "header": True},
    )
    process.write_files(["/a"], ["/a"], ["/b"], ["/x"], ["/b"])
    process.start()

    process.lease(0, 5)

    assert process.segment() == b"1\n1\n1\n/x\n1\n"
    assert process.columns() == [
        {"offset": 0, "columns": ["a"]},
        {"offset": 4, "columns": ["b"]},
        {"offset": 6, "columns": None},
        {"offset": 9, "columns": ["b"]},
    ]


def test_an_item_that_cannot_be_written_fails_its_try(make_process: Make) -> None:
    process = make_process(
        "class Odd:\n    def __str__(self):\n        raise ValueError('odd')\n"
        "def run(mini_batch):\n    return [Odd()]\n"
    )
    process.write_files(["/a"])
    process.start()

    block = process.lease(0)

    assert block.records[0].status == wire.RUN_EXCEPTION
    assert block.errors[0]["frames"][0][2] == "__str__"
    assert process.segment() == b""
