"""Averages the depths sounded in a lake. Some of the files are broken on purpose."""

from __future__ import annotations

import logging
from pathlib import Path

GREEN, YELLOW, PLAIN = "\033[32m", "\033[33m", "\033[0m"
ERASE_LINE = "\r\033[K"  # so that a message replaces the progress bar
METRES_PER_UNIT = {"metre": 1.0, "fathom": 1.8288, "foot": 0.3048}

logger = logging.getLogger(__name__)


def run(mini_batch: list[str]) -> list[str]:
    rows = []
    for done_count, path in enumerate(mini_batch, start=1):
        rows.append(describe_lake(Path(path)))
        print_progress(done_count, len(mini_batch))
    return rows


def describe_lake(path: Path) -> str:
    unit, *soundings = path.read_text("utf-8").splitlines()
    if len(soundings) < 3:
        logger.warning("%s has only %d soundings", path.name, len(soundings))
        print(f"{ERASE_LINE}{YELLOW}few soundings{PLAIN} {path.name}")
    depths = read_depths(soundings, unit.removeprefix("unit: "))
    average = sum(depths) / len(depths)
    print(f"{ERASE_LINE}{GREEN}read{PLAIN} {path.name}: {average:.1f} m of {len(depths)}")
    return f"{path.name}: {average:.1f} m"


def read_depths(soundings: list[str], unit: str) -> list[float]:
    """In metres."""
    return [
        to_metres(read_number(text, line_number), unit)
        for line_number, text in enumerate(soundings, start=2)
    ]


def read_number(text: str, line_number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"line {line_number}: {text!r} is not a depth") from None


def to_metres(depth: float, unit: str) -> float:
    return depth * METRES_PER_UNIT[unit]


def print_progress(done_count: int, all_count: int) -> None:
    """Redraws one line, as progress bars do."""
    width = 20
    filled = "#" * (width * done_count // all_count)
    end = "\n" if done_count == all_count else ""
    print(f"\r[{filled:<{width}}] {done_count}/{all_count}", end=end, flush=True)
