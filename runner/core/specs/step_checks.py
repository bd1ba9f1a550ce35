"""What must fit together in a ParallelRunStep job, and what is only warned of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from runner.core.problems import Problem
from runner.core.specs.checks import Check, needs, problem_at, tags_are_few_and_short
from runner.core.specs.data_paths import ABSOLUTE_RULE, is_relative
from runner.core.specs.inputs import InputSpec, TableOptions
from runner.core.specs.mini_batch_size import (
    SMALL_BYTES,
    Bytes,
    Rows,
    size_of_files,
    size_of_table,
)
from runner.core.specs.parallel_run_step import ParallelRunStepSpec
from runner.core.specs.paths import Location
from runner.core.specs.step_parts import EnvironmentSpec, NamedOutput, OutputSpec, StagedPath

_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@needs("inputs", "rank_mini_batch_count")
def inputs_are_given(inputs: list[InputSpec], rank_count: int) -> Iterator[Problem]:
    if not inputs and not rank_count:
        rule = "is required: what is worked on (unless rank_mini_batch_count is above 0)"
        yield problem_at(("inputs",), rule)


@needs("inputs")
def inputs_are_of_one_type(inputs: list[InputSpec]) -> Iterator[Problem]:
    names: dict[str, list[str]] = {}
    for one in inputs:
        names.setdefault(one.type, []).append(one.name)
    if len(names) > 1:
        which = "; ".join(f"{kind}: {', '.join(found)}" for kind, found in names.items())
        yield problem_at(("inputs",), f"all inputs must be files or all tables ({which})")


@needs("inputs")
def inputs_have_their_own_names(inputs: list[InputSpec]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, one in enumerate(inputs):
        if one.name in seen:
            yield problem_at(
                ("inputs", index, "name"), "every input needs a name of its own", one.name
            )
        seen.add(one.name)


@needs("inputs")
def table_options_belong_to_tables(inputs: list[InputSpec]) -> Iterator[Problem]:
    for index, one in enumerate(inputs):
        if one.type == "table":
            yield from _table_problems(("inputs", index), one)
        elif one.rows is not None:
            yield problem_at(("inputs", index, "rows"), "rows are a table: set type: table")
        elif one.table != TableOptions():
            yield problem_at(("inputs", index, "table"), "only for type: table")


def _table_problems(at: Location, one: InputSpec) -> Iterator[Problem]:
    table = one.table
    if table.format == "sql" and not table.query:
        yield problem_at((*at, "table", "query"), "is required for format: sql")
    for name in ("query", "datastore"):
        if table.format != "sql" and getattr(table, name) is not None:
            yield problem_at((*at, "table", name), "only for format: sql")
    inner = table.partition_format
    if inner and one.partition_format and inner != one.partition_format:
        rule = "differs from partition_format of the input: give it once"
        yield problem_at((*at, "table", "partition_format"), rule, inner)


@needs("mini_batch_size", "inputs", "partition_keys", "rank_mini_batch_count")
def size_fits_the_inputs(
    size: int | str | None, inputs: list[InputSpec], keys: list[str] | None, rank_count: int
) -> Iterator[Problem]:
    if size is None or not inputs or rank_count:
        return
    if keys is not None:
        rule = (
            "give one of mini_batch_size and partition_keys: "
            "partition_keys makes one mini-batch per combination"
        )
        yield problem_at(("mini_batch_size",), rule, size)
        return
    try:
        (size_of_table if inputs[0].type == "table" else size_of_files)(size)
    except ValueError as error:
        yield problem_at(("mini_batch_size",), str(error), size)


@needs("partition_keys", "inputs")
def partition_keys_are_known(
    keys: list[str] | None, inputs: list[InputSpec]
) -> Iterator[Problem]:
    """The columns of a table are known only when it is read."""
    for one in inputs if keys is not None else []:
        if one.type == "table" and one.rows is None:
            continue
        known = list(dict.fromkeys([*one.path_names, *_columns(one)]))
        for index, name in enumerate(keys or []):
            if name not in known:
                names = ", ".join(known) or "none: set partition_format"
                rule = f"is no key of input {one.name}; its keys are {names}"
                yield problem_at(("partition_keys", index), rule, name)


def _columns(one: InputSpec) -> list[str]:
    columns = [str(name) for row in one.rows or [] for name in row]
    return [*columns, *([one.table.path_column] if one.table.path_column else [])]


@needs("arguments")
def first_argument_is_an_option(arguments: list[str]) -> Iterator[Problem]:
    # Azure merges them with its own, so a bare word would become the value of another.
    if arguments and not arguments[0].startswith(("-", "${{")):
        yield problem_at(("arguments", 0), "the first argument must begin with -", arguments[0])


@needs("entry_script", "source_directory")
def script_lies_in_the_source(script: str, source: str | None) -> Iterator[Problem]:
    path = PurePosixPath(script)
    is_file = path.suffix == ".py" and "/" not in script[-3:]
    if not is_file and not _DOTTED_NAME.fullmatch(script):
        yield problem_at(("entry_script",), "must be a .py file, or a dotted name", script)
    elif source is not None and (path.is_absolute() or ".." in path.parts):
        rule = "must lie in source_directory: give its path below that folder"
        yield problem_at(("entry_script",), rule, script)


CHECKS: tuple[Check, ...] = (
    tags_are_few_and_short,
    inputs_are_given,
    inputs_are_of_one_type,
    inputs_have_their_own_names,
    table_options_belong_to_tables,
    size_fits_the_inputs,
    partition_keys_are_known,
    first_argument_is_an_option,
    script_lies_in_the_source,
)


@needs("inputs")
def input_paths_are_absolute(inputs: list[InputSpec]) -> Iterator[Problem]:
    for index, one in enumerate(inputs):
        for number, path in enumerate(one.paths):
            inner: Location = (number,) if isinstance(one.path, list) else ()
            yield from _relative(("inputs", index, "path", *inner), path)


@needs("side_inputs", "models")
def staged_paths_are_absolute(
    side_inputs: dict[str, StagedPath], models: dict[str, StagedPath]
) -> Iterator[Problem]:
    for group, staged in (("side_inputs", side_inputs), ("models", models)):
        for name, one in staged.items():
            yield from _relative((group, name, "path"), one.path)


@needs("source_directory", "environment", "output", "outputs")
def folders_are_absolute(
    source: str | None,
    environment: EnvironmentSpec | None,
    output: OutputSpec,
    outputs: dict[str, NamedOutput],
) -> Iterator[Problem]:
    yield from _relative(("source_directory",), source)
    yield from _relative(("output", "path"), output.path)
    if environment is not None:
        yield from _relative(
            ("environment", "requirements_file"), environment.requirements_file
        )
    for name, one in outputs.items():
        yield from _relative(("outputs", name, "path"), one.path)


def _relative(location: Location, path: str | None) -> Iterator[Problem]:
    if path is not None and is_relative(path):
        yield problem_at(location, ABSOLUTE_RULE, path)


ABSOLUTE_CHECKS: tuple[Check, ...] = (
    input_paths_are_absolute,
    staged_paths_are_absolute,
    folders_are_absolute,
)


def warnings_of(spec: ParallelRunStepSpec) -> list[str]:
    """Return what is odd and runs all the same, as sentences."""
    found = [*_size_warnings(spec)] if spec.inputs and spec.has_mini_batch_size else []
    if spec.progress_timeout_seconds < spec.run_invocation_timeout:
        found.append(
            "progress_update_timeout is below run_invocation_timeout: "
            "one slow run() would end the job."
        )
    if spec.rank_mini_batch_count and spec.inputs:
        found.append("inputs are ignored, for rank_mini_batch_count is above 0.")
    return [*found, *_output_warnings(spec)]


def _size_warnings(spec: ParallelRunStepSpec) -> Iterator[str]:
    size = spec.size()
    if isinstance(size, Bytes) and size.count < SMALL_BYTES:
        count = size.count
        yield (
            f"mini_batch_size {spec.mini_batch_size} is {count} bytes, about one row per "
            f"mini-batch; {count} rows is written {count}rows."
        )
    for one in spec.inputs:
        if one.table.format == "sql" and not isinstance(size, Rows):
            yield (
                f"input {one.name} is one mini-batch, whatever mini_batch_size: "
                "a query is cut only by a number of rows, as 1000rows."
            )


def _output_warnings(spec: ParallelRunStepSpec) -> Iterator[str]:
    name, output = spec.append_row_file_name, spec.output
    is_written = spec.output_action == "append_row"
    if not (is_written and name.lower().endswith(".csv") and output.format == "text"):
        return
    separator: Any = output.effective_sep
    if separator != ",":
        yield (
            f"{name} is written as text with the separator {separator!r}; "
            "output: {format: csv} writes commas and a header."
        )
