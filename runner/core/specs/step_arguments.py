"""Arguments of a ParallelRunStep job that are settings, or look like them.

Source: the names are those of Azure's driver,
https://learn.microsoft.com/azure/machine-learning/reference-yaml-job-parallel
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from runner.core.placeholders import without_blanks
from runner.core.problems import Problem, edit_distance_is_at_most
from runner.core.specs.draft import Draft

RESERVED = (
    "mini_batch_size",
    "error_threshold",
    "allowed_failed_count",
    "allowed_failed_percent",
    "output",
    "output_action",
    "logging_level",
    "process_count_per_node",
    "run_invocation_timeout",
    "run_max_try",
    "append_row_file_name",
    "partition_keys",
)
SETTINGS = (
    "task_overhead_timeout",
    "progress_update_timeout",
    "first_task_creation_timeout",
    "resource_monitor_interval",
    "profiling_module",
    "rank_mini_batch_count",
    "resume_from",
    "copy_logs_to_parent",
    "push_metrics_to_parent",
    "metrics_name_prefix",
)
OUTPUT = (
    "append_row_dataframe_header",
    "append_row_safe_output",
    "amlbi_dataframe_mixed_types",
)
NOT_OFFERED = "amlbi_async_mode"
KNOWN = (*RESERVED, *SETTINGS, *OUTPUT, NOT_OFFERED)
_LEAST_LETTERS_TO_MISTYPE = 6
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Option:
    index: int  # of the name in the list
    name: str
    value: Any  # None: there is none
    width: int  # entries of the list that it takes


def split_arguments(draft: Draft) -> None:
    """Make a list of ``arguments`` that were given as one text."""
    text = draft.document.get("arguments")
    if not isinstance(text, str):
        return
    try:
        draft.document["arguments"] = shlex.split(without_blanks(text))
    except ValueError as error:
        draft.refuse(("arguments",), f"cannot be split as a shell would: {error}", text)
        draft.document["arguments"] = []


def take_settings(draft: Draft) -> None:
    """Move settings from ``arguments`` to their keys; the rest is the script's own."""
    arguments = draft.document.get("arguments")
    if not isinstance(arguments, list):
        return
    own: list[Any] = []
    index = 0
    while index < len(arguments):
        option = option_at(arguments, index)
        if option is None or not _take(draft, option):
            draft.spelled[("arguments", len(own))] = draft.path_of(("arguments", index))
            own.append(arguments[index])
            index += 1
        else:
            index += option.width
    draft.document["arguments"] = own


def option_at(arguments: list[Any], index: int) -> Option | None:
    """Return the option that begins there, ``--name value`` or ``--name=value``."""
    text = arguments[index]
    if not isinstance(text, str) or not text.startswith("--"):
        return None
    name, equals, value = text[2:].partition("=")
    if equals:
        return Option(index, name, _unquoted(value), 1)
    if index + 1 == len(arguments):
        return Option(index, name, None, 1)
    return Option(index, name, _unquoted(arguments[index + 1]), 2)


def _unquoted(value: Any) -> Any:
    if (
        isinstance(value, str)
        and len(value) >= 2
        and value[0] == value[-1]
        and value[0] in "'\""
    ):
        return value[1:-1]
    return value


def _take(draft: Draft, option: Option) -> bool:
    """Return whether the option is a setting of ours, and no argument of the script."""
    if option.name in RESERVED:
        rule = f"--{option.name} is reserved: use the key {option.name}"
        draft.problems.append(_problem(draft, option, rule))
        return True
    if option.name in (*SETTINGS, *OUTPUT, NOT_OFFERED):
        if option.value is None:
            draft.problems.append(_problem(draft, option, f"--{option.name} needs a value"))
        else:
            _TAKERS.get(option.name, _take_setting)(draft, option)
        return True
    draft.warnings.extend(_mistyped(option.name))
    return False


def _problem(draft: Draft, option: Option, rule: str) -> Problem:
    return Problem(draft.path_of(("arguments", option.index)), rule)


def _take_setting(draft: Draft, option: Option) -> None:
    value = _read(option.name, option.value)
    if option.name in draft.document and draft.document[option.name] != value:
        rule = f"--{option.name} differs from the key {option.name}: give one of the two"
        draft.problems.append(_problem(draft, option, rule))
        return
    draft.spelled[(option.name,)] = draft.path_of(("arguments", option.index))
    draft.document[option.name] = value


def _read(name: str, value: Any) -> Any:
    """Return the value that a number or a word of an argument stands for."""
    if not isinstance(value, str) or name in (
        "profiling_module",
        "metrics_name_prefix",
        "resume_from",
    ):
        return value
    if name in ("copy_logs_to_parent", "push_metrics_to_parent"):
        return _WORDS.get(value.lower(), value)
    try:
        number = json.loads(value)
    except ValueError:
        return value
    return number if isinstance(number, int | float) else value


def _take_header(draft: Draft, option: Option) -> None:
    header = _WORDS.get(str(option.value).lower())
    if header is None:
        draft.problems.append(_problem(draft, option, f"--{option.name} must be True or False"))
        return
    output = draft.document.setdefault("output", {})
    if not isinstance(output, dict):
        return
    if output.get("header") not in (None, header):
        draft.warnings.append(f"--{option.name} has no effect: output.header is set.")
    else:
        output["header"] = header


def _take_mixed_types(draft: Draft, option: Option) -> None:
    if not _WORDS.get(str(option.value).lower()):
        return
    inputs = draft.document.get("inputs")
    for one in inputs if isinstance(inputs, list) else []:
        if isinstance(one, dict) and one.get("type") == "table":
            table = one.setdefault("table", {})
            if isinstance(table, dict):
                table.setdefault("types", "mixed")


def _take_nothing(draft: Draft, option: Option) -> None:
    """The output is always safe: the argument has no effect."""


def _refuse_async(draft: Draft, option: Option) -> None:
    if _WORDS.get(str(option.value).lower()) is not False:
        rule = f"--{option.name} is not offered: the script must have run()"
        draft.problems.append(_problem(draft, option, rule))


_TAKERS: dict[str, Callable[[Draft, Option], None]] = {
    "append_row_dataframe_header": _take_header,
    "append_row_safe_output": _take_nothing,
    "amlbi_dataframe_mixed_types": _take_mixed_types,
    NOT_OFFERED: _refuse_async,
}


def _mistyped(name: str) -> Iterator[str]:
    if len(name) < _LEAST_LETTERS_TO_MISTYPE or len(name) > max(map(len, KNOWN)) + 2:
        return
    for known in KNOWN:
        if edit_distance_is_at_most(2, name, known):
            yield f"--{name} is passed to your script; did you mean --{known}?"
            return
