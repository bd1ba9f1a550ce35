"""The specification of a ParallelRunStep job: every key with its default and rule.

Source: ParallelRunConfig and ParallelRunStep,
https://learn.microsoft.com/python/api/azureml-pipeline-steps/azureml.pipeline.steps.parallelrunconfig
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, field_validator

from runner.core.specs.inputs import InputSpec
from runner.core.specs.mini_batch_size import (
    FILES_DEFAULT,
    TABLE_DEFAULT,
    TEXT_RULE,
    MiniBatchSize,
    check_size,
    size_of_files,
    size_of_table,
)
from runner.core.specs.model import (
    INT_MAX,
    THREE_DAYS_SECONDS,
    Identifier,
    JobSpec,
    Number,
    key,
    timeout_seconds,
    whole_number,
    yes_or_no,
)
from runner.core.specs.step_parts import (
    EnvironmentSpec,
    NamedOutput,
    OutputSpec,
    StagedPathOrText,
)

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FILE_NAME_FORBIDDEN = '~"#%&*:<>?/\\{|}'
FILE_NAME_BYTES = 255
OWN_VARIABLES = "PRSWEB_"

NAME_RULE = (
    "must be 3-32 characters of a-z, 0-9 and -, beginning with a letter, not ending with -"
)
QUOTE_RULE = "must be text: quote it"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _variable_name(name: str) -> str:
    if name.startswith(OWN_VARIABLES):
        raise ValueError(f"names beginning {OWN_VARIABLES} are ours")
    return name


def _parameter(value: Any) -> Any:
    entries = value if isinstance(value, list) else [value]
    if any(not isinstance(one, str | int | float) for one in entries):
        raise ValueError("must be text, a number, true or false, or a list of these")
    if any(isinstance(one, str) and re.search(r"[\r\n]", one) for one in entries):
        raise ValueError("must hold no line break")
    if any(isinstance(one, str) and "${{" in one for one in entries):
        raise ValueError("must be a value, not a reference to another one")
    return value


VariableName = Annotated[Identifier, AfterValidator(_variable_name)]
Parameter = Annotated[Any, AfterValidator(_parameter)]


class ParallelRunStepSpec(JobSpec):
    """An entry script called over many files or rows by many processes."""

    kind: Literal["parallel_run_step"] = key(
        rule="must be parallel_run_step", help_text="What kind of job this is."
    )
    name: str = key(rule=NAME_RULE, help_text="Name of the job.", min_length=3, max_length=32)
    description: str = key("", rule="must be text", help_text="What the job is for.")
    tags: dict[str, str] = key(
        {},
        rule="must be a map of names to text",
        inner_rule=QUOTE_RULE,
        help_text="Words to find it by.",
        kind="texts",
    )
    queue: str = key(
        "default",
        rule="must be the name of a job queue",
        help_text="Job queue, one that exists and is enabled.",
        min_length=1,
    )
    parameters: dict[Identifier, Parameter] = key(
        {},
        rule="must be a map of names to values",
        help_text="Values that may change at every resubmission, "
        "put in at ${{parameters.NAME}}.",
        kind="parameters",
    )
    inputs: list[InputSpec] = key(
        [],
        rule="must be a list of inputs",
        inner_rule="must be a map with name and path",
        help_text="What is worked on; required unless rank_mini_batch_count is above 0.",
        offered=True,
        kind="value",
    )
    mini_batch_size: Annotated[Any, BeforeValidator(check_size)] = key(
        None,
        rule=TEXT_RULE,
        help_text=f"Files of one mini-batch, by default {FILES_DEFAULT}; of a table bytes, "
        f"by default {TABLE_DEFAULT}, or rows, as 20rows.",
        offered=True,
        kind="size",
    )
    partition_keys: list[str] | None = key(
        None,
        rule="must be a list of text",
        inner_rule="must be text",
        help_text="One mini-batch per combination of these keys; not with mini_batch_size.",
        offered=True,
        kind="names",
    )
    side_inputs: dict[Identifier, StagedPathOrText] = key(
        {},
        rule="must be a map of names to paths",
        inner_rule="must be a path, or a map with path and stage",
        help_text="Whole on every node before init(); in arguments ${{side_inputs.NAME}}.",
        offered=True,
        kind="value",
    )
    models: dict[Identifier, StagedPathOrText] = key(
        {},
        rule="must be a map of names to paths",
        inner_rule="must be a path, or a map with path and stage",
        help_text="What Model.get_model_path finds.",
        offered=True,
        kind="value",
    )
    arguments: list[str] = key(
        [],
        rule="must be a list of text, or one text",
        inner_rule=QUOTE_RULE,
        help_text="Command line of the script; one text is split as a shell does.",
        offered=True,
        kind="arguments",
    )
    entry_script: str = key(
        rule="must be the path of a script, or a dotted name",
        help_text="The script with run(), in source_directory.",
        min_length=1,
    )
    source_directory: str | None = key(
        None,
        rule="must be the path of a folder",
        help_text="Copied at submission; by default the folder of entry_script.",
        min_length=1,
    )
    environment: EnvironmentSpec | None = key(
        None,
        rule="must be a map",
        help_text="Interpreter and requirements; by default the node's own Python.",
        kind="value",
    )
    environment_variables: dict[VariableName, str] = key(
        {},
        rule="must be a map of names to text",
        inner_rule=QUOTE_RULE,
        help_text="Given to the processes.",
        kind="texts",
    )
    node_count: int = whole_number(
        1, least=1, help_text="Nodes at most; it starts with the first free one.", offered=True
    )
    process_count_per_node: int | None = whole_number(
        None,
        least=1,
        most=1024,
        help_text="Worker processes of a node; by default one per vCPU, with GPUs 1.",
        offered=True,
    )
    run_invocation_timeout: Number = timeout_seconds(
        60, help_text="Seconds for one run().", offered=True
    )
    run_max_try: int = whole_number(
        3, least=1, help_text="Tries of a mini-batch in all, not retries.", offered=True
    )
    task_overhead_timeout: Number = timeout_seconds(
        30, help_text="Seconds to load a mini-batch, and to write its results."
    )
    progress_update_timeout: Number | None = timeout_seconds(
        None,
        help_text="Seconds without any progress that end the job; by default "
        "3 × (run_invocation_timeout + task_overhead_timeout).",
    )
    first_task_creation_timeout: Number = timeout_seconds(
        600, help_text="Seconds until the first mini-batch must exist."
    )
    time_limit: Number | None = key(
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
        -1,
        least=-1,
        help_text="Failed mini-batches allowed; -1: any number. "
        "Also written allowed_failed_count.",
    )
    allowed_failed_percent: Number = key(
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
        help_text="Name of the output file, case kept; none of "
        + " ".join(FILE_NAME_FORBIDDEN),
    )
    output: OutputSpec = key(
        OutputSpec(), rule="must be a map", help_text="How it is written.", kind="value"
    )
    outputs: dict[Identifier, NamedOutput] = key(
        {},
        rule="must be a map of names",
        inner_rule="must be a map: {} or {path: …}",
        help_text="Further folders; in arguments ${{outputs.NAME}}.",
        kind="value",
    )
    logging_level: Annotated[Literal["WARNING", "INFO", "DEBUG"], BeforeValidator(_upper)] = (
        key(
            "INFO",
            rule="must be WARNING, INFO or DEBUG",
            help_text="What the script's logs hold.",
            offered=True,
        )
    )
    resource_monitor_interval: Number = key(
        600.0,
        rule=f"must be a number of seconds from 0 to {INT_MAX}",
        help_text="Seconds between entries of the perf files; 0: none.",
        kind="number",
        ge=0,
        le=INT_MAX,
    )
    sample_interval: Number = key(
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
    rank_mini_batch_count: int = whole_number(
        0,
        least=0,
        help_text="Above 0: that many mini-batches without data, inputs ignored.",
    )
    push_metrics_to_parent: bool = yes_or_no(
        False, help_text="Copy the metrics to the pipeline's page."
    )
    copy_logs_to_parent: bool = yes_or_no(
        False, help_text="Copy overview and result to the pipeline's page."
    )
    metrics_name_prefix: str = key(
        "", rule="must be text", help_text="Put before the name of each such metric."
    )
    script_sees_settings: bool = yes_or_no(
        True, help_text="Whether sys.argv holds the settings too."
    )
    allow_reuse: bool = yes_or_no(
        True, help_text="Give the result of an equal job that succeeded."
    )
    resume_from: str | None = key(
        None, rule="must be a job id", help_text="As resubmitting that job failed-only."
    )
    accept_changed_inputs: bool = yes_or_no(
        False, help_text="Failed-only, though input files have changed."
    )
    bindings: dict[str, str | None] = key(
        {},
        rule="must be a map of paths to text",
        help_text="Written by prsweb: where a value came from a parameter or from another key.",
        kind="value",
    )

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError(NAME_RULE)
        return value

    @field_validator("partition_keys")
    @classmethod
    def _keys(cls, value: list[str] | None) -> list[str] | None:
        if value is not None and (not value or len(set(value)) < len(value)):
            raise ValueError("must be a list of text, not empty, without repeats")
        return value

    @field_validator("append_row_file_name")
    @classmethod
    def _file_name(cls, value: str) -> str:
        return check_file_name(value)

    @field_validator("resume_from")
    @classmethod
    def _job_id(cls, value: str | None) -> str | None:
        if value is not None and not JOB_ID.fullmatch(value):
            raise ValueError("must be a job id, as 5b8c1c2e-0000-4000-8000-000000000001")
        return value

    @property
    def is_table(self) -> bool:
        return bool(self.inputs) and self.inputs[0].type == "table"

    @property
    def has_mini_batch_size(self) -> bool:
        """Whether a size cuts the input; partition keys and ranks take its place."""
        return not self.rank_mini_batch_count and self.partition_keys is None

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

    def derived_values(self) -> dict[str, Any]:
        """Return by path the values in effect of keys that were left to others."""
        values: dict[str, Any] = {}
        if self.mini_batch_size is None and self.has_mini_batch_size:
            values["mini_batch_size"] = TABLE_DEFAULT if self.is_table else FILES_DEFAULT
        if self.progress_update_timeout is None:
            seconds = self.progress_timeout_seconds
            values["progress_update_timeout"] = (
                int(seconds) if float(seconds).is_integer() else seconds
            )
        return values


def check_file_name(value: str) -> str:
    """Return ``value`` if a file may be called so, or raise ValueError.

    Source: the characters are those that Azure refuses.
    """
    if not value:
        raise ValueError("must not be empty")
    if value in (".", ".."):
        raise ValueError("must be a file name")
    if bad := [one for one in FILE_NAME_FORBIDDEN if one in value]:
        several = "characters " if len(bad) > 1 else "character "
        verb = "are" if len(bad) > 1 else "is"
        raise ValueError(f"the {several}{' '.join(f'`{c}`' for c in bad)} {verb} not allowed")
    if any(ord(one) < 32 or ord(one) == 127 for one in value):
        raise ValueError("must hold no control character")
    if len(value.encode()) > FILE_NAME_BYTES:
        raise ValueError(f"must be at most {FILE_NAME_BYTES} bytes")
    return value
