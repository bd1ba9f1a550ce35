"""The table of digits: what each image shows, and which images a classifier may learn from."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parent / "digits.csv.gz"
SIDE = 8  # pixels of an image in each direction
FULL_INK = 16  # the darkest pixel of the table


class Digit(NamedTuple):
    number: int  # place in the table, from 0
    ink: tuple[int, ...]  # 64 values from 0 to 16, row by row from the top
    label: int  # the digit the writer meant

    @property
    def file_name(self) -> str:
        return f"digit-{self.number:04d}.png"

    @property
    def is_for_training(self) -> bool:
        """True for every second digit, from the first; the others are held out.

        The table has the writers one after another, so both parts hold every writer.
        """
        return self.number % 2 == 0


def read_digits(table: Path = TABLE) -> list[Digit]:
    """All digits, in the order of the table."""
    with gzip.open(table, "rt", encoding="ascii", newline="") as lines:
        rows = csv.reader(lines)
        next(rows)  # the header
        return [_digit(number, row) for number, row in enumerate(rows)]


def _digit(number: int, row: list[str]) -> Digit:
    *ink, label = map(int, row)
    return Digit(number=number, ink=tuple(ink), label=label)
