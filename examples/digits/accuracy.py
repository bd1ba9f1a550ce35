"""Prints how many held-out digits the job found.

    python3 examples/digits/accuracy.py OUTPUT_FILE

The digits that score.py learned from do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

from digits_table import read_digits


class OutputInvalid(ValueError):
    """The file is not the output of the digits job."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("Give one argument: the output file of the digits job.", file=sys.stderr)
        return 2
    try:
        found = read_output(Path(arguments[0]))
        correct_count, held_out_count = count_correct(found)
    except (OSError, OutputInvalid) as error:
        print(f"The accuracy cannot be told: {error}", file=sys.stderr)
        return 2
    percent = 100 * correct_count / held_out_count
    print(f"Accuracy: {percent:.1f} % ({correct_count} of {held_out_count} held-out digits)")
    return 0


def read_output(path: Path) -> dict[str, int]:
    """The digit found, by name of the image."""
    found = {}
    for line_number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        name, colon, digit = line.partition(": ")
        if not colon or not digit.isdecimal():
            raise OutputInvalid(f"{path}:{line_number}: must be NAME: DIGIT (found: {line})")
        found[name] = int(digit)
    return found


def count_correct(found: dict[str, int]) -> tuple[int, int]:
    """Correct ones and all, of the held-out digits; a digit without a row is not correct."""
    held_out = [digit for digit in read_digits() if not digit.is_for_training]
    correct = [digit for digit in held_out if found.get(digit.file_name) == digit.label]
    return len(correct), len(held_out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
