"""Whether an MLTable folder holds a table or lists files.

Source: https://learn.microsoft.com/azure/machine-learning/reference-yaml-mltable
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.specs.azure.reading import Reading, UnreadableFile
from runner.core.specs.data_paths import is_on_this_machine
from runner.core.specs.paths import Location

_READERS = ("read_delimited", "read_json_lines", "read_parquet", "read_delta_lake")
FILE_NAME = "MLTable"


def input_type(reading: Reading, path: str, at: Location) -> str:
    """Return files or table; a table, with a warning, where its MLTable cannot be seen."""
    if path.startswith("dataset:"):
        return "table"  # a dataset knows itself how it is read
    file = f"{path.rstrip('/')}/{FILE_NAME}"
    try:
        if not is_on_this_machine(path):
            raise UnreadableFile
        reading.text_of(file)
    except UnreadableFile:
        reading.warn(at, f"{file} cannot be read here; the input is taken as a table.")
        return "table"
    read = reading.map_of(file, at)
    return "table" if read is None or _reads_a_table(read) else "files"


def _reads_a_table(mltable: Mapping[str, Any]) -> bool:
    steps = mltable.get("transformations")
    for step in steps if isinstance(steps, list) else []:
        names = step if isinstance(step, Mapping) else [step]
        if any(name in _READERS for name in names):
            return True
    return False
