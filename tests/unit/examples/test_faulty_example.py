from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def script(load_script: Callable[[str, str], ModuleType]) -> ModuleType:
    return load_script("faulty", "average_depth")


@pytest.fixture
def lakes(examples: Path) -> list[str]:
    return sorted(map(str, (examples / "faulty" / "soundings").iterdir()))


def failures(script: ModuleType, mini_batches: list[list[str]]) -> list[Exception]:
    found = []
    for mini_batch in mini_batches:
        try:
            rows = script.run(mini_batch)
        except Exception as error:
            found.append(error)
        else:
            assert len(rows) == len(mini_batch)
    return found


def test_ten_of_sixty_files_fail_in_three_ways(script: ModuleType, lakes: list[str]) -> None:
    found = failures(script, [[lake] for lake in lakes])

    kinds = Counter(type(error).__name__ for error in found)
    assert len(lakes) == 60
    assert kinds == {"ValueError": 5, "KeyError": 3, "ZeroDivisionError": 2}


def test_nine_of_thirty_mini_batches_fail(script: ModuleType, lakes: list[str]) -> None:
    found = failures(script, [lakes[start : start + 2] for start in range(0, 60, 2)])

    assert len(found) == 9


def test_one_kind_of_failure_has_differing_messages_and_another_lies_deep(
    script: ModuleType, lakes: list[str]
) -> None:
    found = failures(script, [[lake] for lake in lakes])

    messages = {str(error) for error in found if isinstance(error, ValueError)}
    assert len(messages) >= 3
    for error in found:
        if isinstance(error, KeyError):
            functions = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            assert functions[-1] == "to_metres"


def test_the_script_prints_colours_and_a_line_that_is_redrawn(
    script: ModuleType, lakes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    script.run(lakes[:2])

    printed = capsys.readouterr().out
    assert "\033[32mread\033[0m lake-01.txt" in printed
    assert "\r[##########          ] 1/2\r" in printed
    assert printed.endswith("2/2\n")
