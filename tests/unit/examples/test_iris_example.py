from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest


@pytest.fixture
def script(load_script: Callable[[str, str], ModuleType]) -> ModuleType:
    script = load_script("iris", "nearest_species")
    script.init()
    return script


def read_flowers(examples: Path) -> list[pd.DataFrame]:
    return [pd.read_csv(path) for path in sorted((examples / "iris" / "data").glob("*.csv"))]


def test_three_files_hold_fifty_flowers_of_each_species(examples: Path) -> None:
    tables = read_flowers(examples)

    flowers = pd.concat(tables)
    assert len(tables) == 3
    assert sorted(flowers["flower"]) == list(range(1, 151))
    assert set(flowers["species"].value_counts()) == {50}


def test_each_file_makes_several_mini_batches(examples: Path) -> None:
    sizes = [path.stat().st_size for path in (examples / "iris" / "data").glob("*.csv")]

    assert min(sizes) > 1.2 * 1024


def test_a_flower_gets_the_species_whose_average_is_nearest(
    script: ModuleType, examples: Path
) -> None:
    flowers = pd.concat(read_flowers(examples), ignore_index=True)

    found = script.run(flowers)

    assert list(found.columns) == ["flower", "species", "nearest_species", "distance"]
    assert list(found["flower"]) == list(flowers["flower"])
    first = found[found["flower"] == 1].iloc[0]
    # 0.094, 0.072, 0.062 and 0.046 cm from setosa's averages
    assert (first["nearest_species"], first["distance"]) == ("setosa", 0.141)
    assert (found["nearest_species"] == found["species"]).mean() > 0.9


def test_the_averages_are_those_of_the_flowers(script: ModuleType, examples: Path) -> None:
    flowers = pd.concat(read_flowers(examples))

    averages = flowers.groupby("species")[script.MEASURES].mean()

    pd.testing.assert_frame_equal(averages, script.average_flowers.sort_index())
