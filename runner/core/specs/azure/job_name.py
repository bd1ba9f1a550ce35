"""A name within our rule for a job that has another one, or none."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from runner.core.specs.azure.reading import Reading
from runner.core.specs.parallel_run_step import NAME
from runner.core.specs.paths import Location

LEAST_CHARACTERS, MOST_CHARACTERS = 3, 32
DISPLAY_TAG = "display_name"


def is_valid(name: str) -> bool:
    is_long_enough = LEAST_CHARACTERS <= len(name) <= MOST_CHARACTERS
    return is_long_enough and NAME.fullmatch(name) is not None


def valid_name(text: str) -> str:
    """Return a name within our rule that looks like ``text``."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not name or not name[0].isalpha() or len(name) < LEAST_CHARACTERS:
        name = f"job-{name}".strip("-")
    return name[:MOST_CHARACTERS].strip("-")


def put_name(reading: Reading, name: Any, at: Location) -> None:
    """Put in the name, or one made of it or of the script; the old one becomes a tag."""
    document = reading.document
    if name is None:
        script = document.get("entry_script")
        stem = PurePosixPath(script).stem if isinstance(script, str) else ""
        made = valid_name(stem or "parallel")
        reading.put(("name",), made, at)
        reading.warn(at, f"the file gives no name; the job is called {made}.")
        return
    if not isinstance(name, str) or not name or is_valid(name):
        reading.put(("name",), name, at)
        return
    made = valid_name(name)
    reading.put(("name",), made, at)
    tags = document.setdefault("tags", {})
    if isinstance(tags, dict):
        tags.setdefault(DISPLAY_TAG, name)
    reading.warn(at, f"{name!r} is no name here; the job is called {made}, tagged {name!r}.")
