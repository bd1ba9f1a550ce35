"""``task.program_arguments`` of a v2 job: arguments of the script, and settings among them."""

from __future__ import annotations

import shlex
from typing import Any

from runner.core.placeholders import without_blanks
from runner.core.specs.azure.numbers import number_of
from runner.core.specs.azure.reading import Reading
from runner.core.specs.azure.references import References
from runner.core.specs.bindings import split_names
from runner.core.specs.paths import Location, path_text
from runner.core.specs.step_arguments import RESERVED, option_at

AT: Location = ("task", "program_arguments")
_NUMBERS = (
    "error_threshold",
    "allowed_failed_count",
    "allowed_failed_percent",
    "process_count_per_node",
    "run_invocation_timeout",
    "run_max_try",
)
_KEYS = {"allowed_failed_count": "mini_batch_error_threshold"}
_NO_KEY = "output"  # the folder in which Azure's own driver writes


def put_arguments(reading: Reading, given: Any, references: References) -> None:
    """Put in the script's arguments; what names a key of the job sets that key.

    The settings that are written as arguments in our own file too stay there.
    """
    reading.spell(("arguments",), AT)
    if given is None:
        return
    words = _words(reading, given, references)
    own: list[Any] = []
    index = 0
    while index < len(words):
        option = option_at(words, index)
        if option is not None and option.name in RESERVED:
            _set_key(reading, option.name, option.value, (*AT, option.index), references)
            index += option.width
            continue
        reading.spell(("arguments", len(own)), (*AT, index))
        own.append(references.rewritten(words[index], (*AT, index)))
        index += 1
    reading.document["arguments"] = own


def _words(reading: Reading, given: Any, references: References) -> list[Any]:
    if isinstance(given, list):
        return given
    if not isinstance(given, str):
        reading.refuse(AT, "must be text", given, target=("arguments",))
        return []
    try:
        return shlex.split(without_blanks(references.without_optional(given)))
    except ValueError as error:
        reading.refuse(AT, f"cannot be split as a shell would: {error}", given)
        return []


def _set_key(
    reading: Reading, name: str, value: Any, at: Location, references: References
) -> None:
    if name == _NO_KEY:
        reading.refuse(at, f"--{name} is reserved, and has no key here: leave it out", value)
        return
    if value is None:
        reading.refuse(at, f"--{name} needs a value")
        return
    if name == "partition_keys" and "${{" not in str(value):
        value = split_names(str(value))
    elif name in _NUMBERS:
        value = references.number(value)
    elif name in ("output_action", "logging_level") and isinstance(value, str):
        value = value.lower() if name == "output_action" else value.upper()
    value = references.rewritten(value, at)
    key = _KEYS.get(name, name)
    document = reading.document
    known = document.get(key)
    if key in document and _comparable(known) != _comparable(value):
        written = document.spelled.get((key,), key)
        reading.refuse(at, f"--{name} differs from {written}: give one of the two", value)
        return
    if key not in document:
        document[key] = value
        document.spelled[(key,)] = path_text(at)


def _comparable(value: Any) -> Any:
    return number_of(value.lower()) if isinstance(value, str) else value
