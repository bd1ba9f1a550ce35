"""What multi-node and plain jobs have in common.

Source: AWS Batch job definitions,
https://docs.aws.amazon.com/batch/latest/userguide/job_definition_parameters.html
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, field_validator, model_validator

from runner.core.specs.model import JobSpec, Number, SpecModel, key, whole_number

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
NAME_RULE = "must be 1-128 letters, digits, - and _, beginning with a letter or digit"
PARAMETER_NAME = re.compile(r"[A-Za-z0-9_-]+")
QUOTE_RULE = "must be text: quote it"
RESERVED_VARIABLES = "AWS_BATCH"
MOST_DEPENDENCIES = 20
MOST_EXIT_RULES = 5
LEAST_MEMORY_MIB = 4
DEFAULT_VCPUS = 1
DEFAULT_MEMORY_MIB = 256

_JOB_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?P<child>:[0-9]{1,5})?")
_REASON_PATTERN = re.compile(r"[A-Za-z0-9.:\s]{0,512}\*?")
_EXIT_CODE_PATTERN = re.compile(r"[0-9]{0,512}\*?")
REASON_RULE = (
    "must be at most 512 letters, digits, `.`, `:` and blanks, with one * at the end or none"
)
EXIT_CODE_RULE = 'must be digits in quotes, with one * at the end or none, as "42" or "1*"'


def _shell_command(value: Any) -> Any:
    """A text is run by a shell."""
    return ["sh", "-c", value] if isinstance(value, str) and value.strip() else value


def _words(value: list[str]) -> list[str]:
    if any(not word for word in value):
        raise ValueError("must hold no empty text")
    return value


def _variable_name(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("the name of a variable must not be empty and hold no =")
    if name.startswith(RESERVED_VARIABLES):
        raise ValueError(f"names beginning {RESERVED_VARIABLES} are set by the system")
    return name


def _parameter_name(name: str) -> str:
    if not PARAMETER_NAME.fullmatch(name):
        raise ValueError("the name must be letters, digits, _ and -")
    return name


def _reason_pattern(text: str) -> str:
    if not text or not _REASON_PATTERN.fullmatch(text):
        raise ValueError(REASON_RULE)
    return text


def _exit_code_pattern(text: str) -> str:
    if not text or not _EXIT_CODE_PATTERN.fullmatch(text):
        raise ValueError(EXIT_CODE_RULE)
    return text


Command = Annotated[list[str], BeforeValidator(_shell_command), AfterValidator(_words)]
VariableName = Annotated[str, AfterValidator(_variable_name)]
ParameterName = Annotated[str, AfterValidator(_parameter_name)]
ReasonPattern = Annotated[str, AfterValidator(_reason_pattern)]


class RunSpec(SpecModel):
    """What is run, and with what: of a node group, or of a plain job."""

    command: Command = key(
        [],
        rule="must be a list of text, or one text for a shell",
        inner_rule=QUOTE_RULE,
        help_text='What is run; one text is run as ["sh", "-c", TEXT].',
        kind="command",
        offered=True,
    )
    environment: dict[VariableName, str] = key(
        {},
        rule="must be a map of names to text",
        inner_rule=QUOTE_RULE,
        help_text="Environment variables.",
        kind="texts",
    )
    image: str | None = key(None, rule="must be text", help_text="Recorded, not used.")
    instance_type: str | None = key(
        None, rule="must be text", help_text="Type of node; by default any.", min_length=1
    )
    gpus: int = whole_number(0, least=0, help_text="GPUs of a node.")


class ExitRule(SpecModel):
    """Whether a failed attempt is followed by another. All given conditions must match."""

    on_status_reason: ReasonPattern | None = key(
        None, rule=REASON_RULE, help_text="The attempt's reason; * at the end: any rest."
    )
    on_reason: ReasonPattern | None = key(
        None, rule=REASON_RULE, help_text="The container's reason, in the same way."
    )
    on_exit_code: Annotated[str, AfterValidator(_exit_code_pattern)] | None = key(
        None, rule=EXIT_CODE_RULE, help_text="The exit code in decimal, in the same way."
    )
    action: Annotated[
        Literal["retry", "exit"],
        BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
    ] = key(rule="must be retry or exit", help_text="What follows.")

    @model_validator(mode="after")
    def _has_condition(self) -> ExitRule:
        if self.on_status_reason is self.on_reason is self.on_exit_code is None:
            raise ValueError("needs on_status_reason, on_reason or on_exit_code")
        return self


class RetrySpec(SpecModel):
    attempts: int = whole_number(
        1, least=1, most=10, help_text="Attempts in all.", offered=True
    )
    evaluate_on_exit: list[ExitRule] = key(
        [],
        rule=f"must be a list of at most {MOST_EXIT_RULES} rules",
        inner_rule="must be a map",
        help_text="Which failures are tried again; the first rule that matches decides.",
        kind="value",
        max_length=MOST_EXIT_RULES,
    )

    @model_validator(mode="after")
    def _has_attempts(self) -> RetrySpec:
        if self.evaluate_on_exit and "attempts" not in self.model_fields_set:
            raise ValueError("evaluate_on_exit needs attempts")
        return self


class Dependency(SpecModel):
    """A job that must end first. SEQUENTIAL without a job: each child after the one before."""

    job: str | None = key(None, rule="must be a job id", help_text="Job id, id:3 for a child.")
    type: Literal["SEQUENTIAL", "N_TO_N"] | None = key(
        None, rule="must be SEQUENTIAL or N_TO_N", help_text="For arrays."
    )

    @field_validator("job")
    @classmethod
    def _job_id(cls, value: str | None) -> str | None:
        if value is not None and "#" in value:
            raise ValueError(
                "must be a job, not one of its nodes: leave out # and what follows"
            )
        if value is not None and not _JOB_ID.fullmatch(value):
            raise ValueError("must be a job id, as 5b8c1c2e-0000-4000-8000-000000000001")
        return value

    @model_validator(mode="after")
    def _names_something(self) -> Dependency:
        if self.job is None and self.type != "SEQUENTIAL":
            raise ValueError("needs job, the id of a job")
        return self


class GangSpec(JobSpec):
    """What every job of AWS Batch's contract has."""

    name: str = key(rule=NAME_RULE, help_text="Name of the job.")
    description: str = key("", rule="must be text", help_text="What the job is for.")
    queue: str = key(
        "default",
        rule="must be the name of a job queue",
        help_text="Job queue, one that exists and is enabled.",
        min_length=1,
    )
    parameters: dict[ParameterName, str] = key(
        {},
        rule="must be a map of names to text",
        inner_rule=QUOTE_RULE,
        help_text="Values for Ref::name in command.",
        kind="texts",
        offered=True,
    )
    working_directory: str | None = key(
        None,
        rule="must be the path of a folder",
        help_text="Copied at submission; by default an empty folder.",
        min_length=1,
    )
    depends_on: list[Dependency] = key(
        [],
        rule=f"must be a list of at most {MOST_DEPENDENCIES} dependencies",
        inner_rule="must be a map",
        help_text="Jobs that must end first.",
        kind="value",
        max_length=MOST_DEPENDENCIES,
    )
    depends_when: Literal["succeeded", "ended"] = key(
        "succeeded",
        rule="must be succeeded or ended",
        help_text="ended: a dependency that failed is met too.",
    )
    retry: RetrySpec = key(
        RetrySpec(), rule="must be a map", help_text="Attempts.", kind="value"
    )
    timeout: int | None = whole_number(
        None,
        least=1,
        help_text="Seconds of an attempt, at least 60; by default no limit.",
        rule="must be a whole number of seconds",
        offered=True,
    )
    tags: dict[str, str] = key(
        {},
        rule="must be a map of names to text",
        inner_rule=QUOTE_RULE,
        help_text="Words to find it by.",
        kind="texts",
    )
    stop_grace_seconds: Number = key(
        30.0,
        rule="must be a number of seconds from 0 to 3600",
        help_text="Between SIGTERM and SIGKILL.",
        kind="number",
        ge=0,
        le=3600,
    )
    bindings: dict[str, str | None] = key(
        {},
        rule="must be a map of paths to text",
        help_text="Written by prsweb: which values came from another key.",
        kind="value",
    )

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError(NAME_RULE)
        return value
