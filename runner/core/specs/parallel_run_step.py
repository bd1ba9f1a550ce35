"""The specification of a ParallelRunStep job: every key with its default and rule.

Source: ParallelRunConfig and ParallelRunStep,
https://learn.microsoft.com/python/api/azureml-pipeline-steps/azureml.pipeline.steps.parallelrunconfig
"""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, field_validator, model_validator

from runner.core.specs.mini_batch_size import (
    Bytes,
    MiniBatchSize,
    check_size,
    size_of_files,
    size_of_table,
)
from runner.core.specs.model import (
    THREE_DAYS_SECONDS,
    SpecModel,
    key,
    timeout_seconds,
    whole_number,
)

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FILE_NAME_FORBIDDEN = '~"#%&*:<>?/\\{|}'
RESERVED_ARGUMENTS = (
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

NAME_RULE = (
    "must be 3-32 characters of a-z, 0-9 and -, beginning with a letter, not ending with -"
)
IDENTIFIER_RULE = "names must be letters, digits and _, not beginning with a digit"
PATHS_RULE = "must be a path, a URL, a dataset, rows, or an uploaded CSV or Parquet file"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _arguments(value: Any) -> Any:
    """One text is split as a shell would."""
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ValueError(f"cannot be split into arguments: {error}") from None


def _path_or_map(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class TableOptions(SpecModel):
    """How a table's files are read."""

    format: Literal["csv", "tsv", "jsonl", "parquet", "sql"] | None = key(
        None,
        rule="must be csv, tsv, jsonl, parquet or sql",
        help_text="Format; by default that of the file's ending.",
    )
    delimiter: str | None = key(
        None,
        rule="must be one character",
        help_text="Between fields; `,`, for tsv a tab.",
        min_length=1,
        max_length=1,
    )
    encoding: str = key("utf-8", rule="must be a Python codec", help_text="Of the text.")
    header: Literal["every_file", "first_file", "none"] = key(
        "every_file",
        rule="must be every_file, first_file or none",
        help_text="Which files begin with the names of the columns.",
    )
    quoted_newlines: bool = key(
        True,
        rule="must be true or false",
        help_text="Whether a line break inside quotes belongs to the record.",
        kind="boolean",
    )
    types: Any = key(
        "infer",
        rule="must be infer, string, mixed, or a type for each column",
        help_text="How column types are found.",
        kind="value",
    )
    columns: list[str] | None = key(
        None, rule="must be a list of text", help_text="Columns to keep.", kind="names"
    )
    path_column: str | None = key(
        None, rule="must be text", help_text="Name of a column that holds the file's path."
    )
    partition_format: str | None = key(
        None, rule="must be text", help_text="Columns read from the path."
    )
    query: str | None = key(None, rule="must be text", help_text="SQL query.")
    datastore: str | None = key(None, rule="must be text", help_text="Database to ask.")

    @field_validator("types")
    @classmethod
    def _known_types(cls, value: Any) -> Any:
        kinds = ("int", "float", "bool", "string", "datetime")
        if isinstance(value, str) and value in ("infer", "string", "mixed"):
            return value
        if isinstance(value, dict) and all(kind in kinds for kind in value.values()):
            return value
        raise ValueError(
            "must be infer, string, mixed, or columns with int, float, bool, string, datetime"
        )


class InputSpec(SpecModel):
    """One input: files, or the rows of a table."""

    name: str = key(rule="must be letters, digits and _", help_text="Name of the input.")
    type: Literal["files", "table"] = key(
        "files", rule="must be files or table", help_text="What its items are."
    )
    path: Any = key(None, rule=PATHS_RULE, help_text="Where it lies.", kind="value")
    rows: list[dict[str, Any]] | None = key(
        None, rule="must be a list of maps", help_text="A small table itself.", kind="value"
    )
    mode: Literal["local", "direct"] = key(
        "local", rule="must be local or direct", help_text="How remote files are given."
    )
    partition_format: str | None = key(
        None, rule="must be text", help_text="Keys read from the path."
    )
    ignore_unmatched: bool = key(
        False,
        rule="must be true or false",
        help_text="Leave out files that do not match partition_format.",
        kind="boolean",
    )
    table: TableOptions = key(
        TableOptions(), rule="must be a map", help_text="How the table is read.", kind="value"
    )

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not IDENTIFIER.fullmatch(value):
            raise ValueError(IDENTIFIER_RULE)
        return value

    @field_validator("path")
    @classmethod
    def _path(cls, value: Any) -> Any:
        if value is None:
            return None
        paths = value if isinstance(value, list) else [value]
        if not paths or not all(isinstance(one, str) and one.strip() for one in paths):
            raise ValueError(PATHS_RULE)
        if any("\0" in one for one in paths):
            raise ValueError("must not hold a NUL character")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> InputSpec:
        if (self.path is None) == (self.rows is None):
            raise ValueError("takes exactly one of path and rows")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths in their order; () for rows."""
        if self.path is None:
            return ()
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)


class StagedPath(SpecModel):
    """A side input or a model."""

    path: str = key(rule="must be a path", help_text="File or folder.", min_length=1)
    stage: Literal["auto", "copy", "in_place"] = key(
        "auto", rule="must be auto, copy or in_place", help_text="How nodes get it."
    )


class EnvironmentSpec(SpecModel):
    """The interpreter of the user's code, and what is installed for it."""

    python: str | None = key(
        None,
        rule="must be a version in quotes or the path of an interpreter",
        help_text="Version, or path of an interpreter.",
    )
    requirements: list[str] | None = key(
        None, rule="must be a list of text", help_text="pip requirements.", kind="names"
    )
    requirements_file: str | None = key(
        None, rule="must be a path", help_text="File of pip requirements."
    )
    build_timeout: float = timeout_seconds(1800, help_text="Seconds for its installation.")


class OutputSpec(SpecModel):
    """How results are written. None: what the format has as its default."""

    format: Literal["text", "csv", "jsonl", "parquet"] = key(
        "text", rule="must be text, csv, jsonl or parquet", help_text="Format of the file."
    )
    path: str | None = key(
        None, rule="must be an absolute path", help_text="Folder; by default the job's own."
    )
    overwrite: bool = key(
        False, rule="must be true or false", help_text="Replace a file there.", kind="boolean"
    )
    sep: str | None = key(
        None, rule="must be text", help_text="Between columns: text a blank, csv a comma."
    )
    header: bool | None = key(
        None,
        rule="must be true or false",
        help_text="Names of columns on top: text no, csv yes.",
        kind="boolean",
    )
    index: bool | None = key(
        None, rule="must be true or false", help_text="Index column: no.", kind="boolean"
    )


class NamedOutput(SpecModel):
    path: str | None = key(None, rule="must be a path", help_text="Folder.")


class ParallelRunStepSpec(SpecModel):
    """An entry script called over many files or rows by many processes."""

    kind: Literal["parallel_run_step"] = key(
        rule="must be parallel_run_step", help_text="What kind of job this is."
    )
    name: str = key(rule=NAME_RULE, help_text="Name of the job.", min_length=3, max_length=32)
    description: str = key("", rule="must be text", help_text="What the job is for.")
    tags: dict[str, str] = key(
        {}, rule="must be text: quote it", help_text="Words to find it by.", kind="value"
    )
    queue: str = key("default", rule="must be text", help_text="Job queue.")
    parameters: dict[str, Any] = key(
        {},
        rule="must be a map of names to values",
        help_text="Values that may change at every resubmission.",
        kind="value",
    )
    inputs: list[InputSpec] = key(
        [],
        rule="must be a list of inputs",
        help_text="What is worked on.",
        offered=True,
        kind="value",
    )
    mini_batch_size: Annotated[Any, BeforeValidator(check_size)] = key(
        None,
        rule="must be a whole number, or one followed by KB, MB, GB (or rows)",
        help_text="Files of one mini-batch (10), or bytes or rows of a table (1MB).",
        offered=True,
        kind="value",
    )
    partition_keys: list[str] | None = key(
        None,
        rule="must be a list of text",
        help_text="One mini-batch per combination of these keys.",
        offered=True,
        kind="names",
    )
    side_inputs: dict[str, Annotated[StagedPath, BeforeValidator(_path_or_map)]] = key(
        {},
        rule="must be a map of names to paths",
        help_text="Whole on every node before init().",
        offered=True,
        kind="value",
    )
    models: dict[str, Annotated[StagedPath, BeforeValidator(_path_or_map)]] = key(
        {},
        rule="must be a map of names to paths",
        help_text="What Model.get_model_path finds.",
        offered=True,
        kind="value",
    )
    arguments: Annotated[list[str], BeforeValidator(_arguments)] = key(
        [],
        rule="must be text: quote it",
        help_text="Command line of the script.",
        offered=True,
        kind="arguments",
    )
    entry_script: str = key(
        rule="must be the path of a script", help_text="The script with run().", min_length=1
    )
    source_directory: str | None = key(
        None, rule="must be the path of a folder", help_text="Copied at submission."
    )
    environment: EnvironmentSpec | None = key(
        None, rule="must be a map", help_text="Interpreter and requirements.", kind="value"
    )
    environment_variables: dict[str, str] = key(
        {}, rule="must be text: quote it", help_text="Given to the processes.", kind="value"
    )
    node_count: int = whole_number(1, least=1, help_text="Nodes at most.", offered=True)
    process_count_per_node: int | None = whole_number(
        None,
        least=1,
        most=1024,
        help_text="Processes on each node; by default one per vCPU, with GPUs 1.",
        offered=True,
    )
    run_invocation_timeout: float = timeout_seconds(
        60, help_text="Seconds for one run().", offered=True
    )
    run_max_try: int = whole_number(
        3, least=1, help_text="Tries of a mini-batch in all.", offered=True
    )
    task_overhead_timeout: float = timeout_seconds(
        30, help_text="Seconds to load a mini-batch, and to write its results."
    )
    progress_update_timeout: float | None = timeout_seconds(
        None,
        help_text="Seconds without any progress that end the job; "
        "3 x (run_invocation_timeout + task_overhead_timeout).",
    )
    first_task_creation_timeout: float = timeout_seconds(
        600, help_text="Seconds until the first mini-batch must exist."
    )
    time_limit: float | None = key(
        None,
        rule="must be a number of seconds above 0",
        help_text="Seconds for the whole job, from RUNNING.",
        kind="number",
        gt=0,
    )
    error_threshold: int = whole_number(
        -1, least=-1, help_text="Failed items allowed; -1: any number."
    )
    mini_batch_error_threshold: int = whole_number(
        -1, least=-1, help_text="Failed mini-batches allowed; -1: any number."
    )
    allowed_failed_percent: float = key(
        100.0,
        rule="must lie between 0 and 100",
        help_text="Failed mini-batches allowed, percent of all.",
        kind="number",
        ge=0,
        le=100,
    )
    output_action: Annotated[Literal["append_row", "summary_only"], BeforeValidator(_lower)] = (
        key(
            rule="must be append_row or summary_only",
            help_text="Collect the results in one file, or only count them.",
        )
    )
    append_row_file_name: str = key(
        "parallel_run_step.txt",
        rule="must be a file name",
        help_text="Name of the output file; none of " + " ".join(FILE_NAME_FORBIDDEN),
    )
    output: OutputSpec = key(
        OutputSpec(), rule="must be a map", help_text="How it is written.", kind="value"
    )
    outputs: dict[str, NamedOutput] = key(
        {}, rule="must be a map of names", help_text="Further named folders.", kind="value"
    )
    logging_level: Annotated[Literal["WARNING", "INFO", "DEBUG"], BeforeValidator(_upper)] = (
        key(
            "INFO",
            rule="must be WARNING, INFO or DEBUG",
            help_text="What the script's logs hold.",
            offered=True,
        )
    )
    resource_monitor_interval: float = key(
        600.0,
        rule="must be a number of seconds, 0 or more",
        help_text="Seconds between samples in perf/; 0: none.",
        kind="number",
        ge=0,
    )
    sample_interval: float = key(
        5.0,
        rule="must be a number of seconds from 1 to 3600",
        help_text="Seconds between samples of the charts.",
        kind="number",
        ge=1,
        le=3600,
    )
    profiling_module: Literal["", "cProfile", "profile"] = key(
        "", rule="must be empty, cProfile or profile", help_text="Profile init() and run()."
    )
    rank_mini_batch_count: int = key(
        0,
        rule="must be a whole number",
        help_text="That many mini-batches without data.",
        kind="integer",
    )
    push_metrics_to_parent: bool = key(
        False, rule="must be true or false", help_text="Copy metrics.", kind="boolean"
    )
    copy_logs_to_parent: bool = key(
        False, rule="must be true or false", help_text="Copy logs.", kind="boolean"
    )
    metrics_name_prefix: str = key("", rule="must be text", help_text="Before metric names.")
    script_sees_settings: bool = key(
        True,
        rule="must be true or false",
        help_text="Whether sys.argv holds the settings too.",
        kind="boolean",
    )
    allow_reuse: bool = key(
        True, rule="must be true or false", help_text="Reuse an equal result.", kind="boolean"
    )
    resume_from: str | None = key(None, rule="must be a job id", help_text="Failed only.")
    accept_changed_inputs: bool = key(
        False,
        rule="must be true or false",
        help_text="Failed only, though input files changed.",
        kind="boolean",
    )

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError(NAME_RULE)
        return value

    @field_validator("parameters", "side_inputs", "models", "outputs")
    @classmethod
    def _names(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if not IDENTIFIER.fullmatch(name):
                raise ValueError(f"{IDENTIFIER_RULE}, unlike {name!r}")
        return value

    @field_validator("environment_variables")
    @classmethod
    def _variables(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not IDENTIFIER.fullmatch(name):
                raise ValueError(f"{IDENTIFIER_RULE}, unlike {name!r}")
            if name.startswith("PRSWEB_"):
                raise ValueError(f"names beginning PRSWEB_ are ours, unlike {name!r}")
            if "\0" in text:
                raise ValueError(f"the value of {name} holds a NUL character")
        return value

    @field_validator("partition_keys")
    @classmethod
    def _keys(cls, value: list[str] | None) -> list[str] | None:
        if value is not None and (not value or len(set(value)) < len(value)):
            raise ValueError("must be a list of text, not empty, without repeats")
        return value

    @field_validator("rank_mini_batch_count")
    @classmethod
    def _rank(cls, value: int) -> int:
        return max(0, value)

    @field_validator("append_row_file_name")
    @classmethod
    def _file_name(cls, value: str) -> str:
        if not value:
            raise ValueError("must not be empty")
        if value in (".", ".."):
            raise ValueError("must be a file name")
        if bad := sorted({c for c in value if c in FILE_NAME_FORBIDDEN}):
            several = "characters " if len(bad) > 1 else "character "
            verb = "are" if len(bad) > 1 else "is"
            raise ValueError(
                f"the {several}{' '.join(f'`{c}`' for c in bad)} {verb} not allowed"
            )
        if any(ord(c) < 32 for c in value) or len(value.encode()) > 255:
            raise ValueError("must be at most 255 bytes without control characters")
        return value

    @field_validator("arguments")
    @classmethod
    def _own_arguments(cls, value: list[str]) -> list[str]:
        if value and not value[0].startswith("-"):
            raise ValueError(f"the first argument must begin with -, unlike {value[0]!r}")
        for argument in value:
            name = argument.removeprefix("--").split("=")[0]
            if argument.startswith("--") and name in RESERVED_ARGUMENTS:
                raise ValueError(f"--{name} is reserved: use the key {name}")
            if "\0" in argument:
                raise ValueError("an argument holds a NUL character")
        return value

    @model_validator(mode="after")
    def _inputs_fit(self) -> ParallelRunStepSpec:
        if self.rank_mini_batch_count:
            return self
        if not self.inputs:
            raise ValueError("inputs: is required unless rank_mini_batch_count is above 0")
        kinds: dict[str, list[str]] = {}
        for one in self.inputs:
            kinds.setdefault(one.type, []).append(one.name)
        if len(kinds) > 1:
            which = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
            raise ValueError(f"inputs: all must be files or all tables ({which})")
        if len({one.name for one in self.inputs}) < len(self.inputs):
            raise ValueError("inputs: every input needs a name of its own")
        if self.partition_keys is not None and self.mini_batch_size is not None:
            raise ValueError(
                "mini_batch_size: give one of mini_batch_size and partition_keys; "
                "partition_keys makes one mini-batch per combination"
            )
        try:
            self.size()
        except ValueError as error:
            raise ValueError(f"mini_batch_size: {error}") from None
        return self

    @property
    def is_table(self) -> bool:
        return bool(self.inputs) and self.inputs[0].type == "table"

    def size(self) -> MiniBatchSize:
        """Return the size in effect: files, bytes or rows."""
        if self.is_table:
            return size_of_table(self.mini_batch_size)
        return size_of_files(self.mini_batch_size)

    @property
    def progress_timeout_seconds(self) -> float:
        """``progress_update_timeout`` in effect."""
        if self.progress_update_timeout is not None:
            return self.progress_update_timeout
        both = self.run_invocation_timeout + self.task_overhead_timeout
        return min(THREE_DAYS_SECONDS, 3 * both)

    def warnings(self) -> list[str]:
        """Return what is odd and runs all the same, as sentences."""
        found = []
        size = self.size() if self.inputs else None
        if isinstance(size, Bytes) and size.count < 1024:
            count = size.count
            found.append(
                f"mini_batch_size {count} is {count} bytes, about one row per mini-batch; "
                f"{count} rows is written {count}rows."
            )
        if self.progress_timeout_seconds < self.run_invocation_timeout:
            found.append(
                "progress_update_timeout is below run_invocation_timeout: "
                "one slow run() would end the job."
            )
        if self.rank_mini_batch_count and self.inputs:
            found.append("inputs are ignored, for rank_mini_batch_count is above 0.")
        if self.append_row_file_name.endswith(".csv") and self.output.format == "text":
            separator = " " if self.output.sep is None else self.output.sep
            if separator != ",":
                found.append(
                    f"{self.append_row_file_name} is written as text with the separator "
                    f"{separator!r}; output: {{format: csv}} writes commas and a header."
                )
        return found
