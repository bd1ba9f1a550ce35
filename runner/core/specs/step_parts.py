"""The parts of a ParallelRunStep job beside its inputs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, model_validator

from runner.core.specs.data_paths import check_data_path
from runner.core.specs.model import Number, SpecModel, key, timeout_seconds, yes_or_no


def _path_or_map(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class StagedPath(SpecModel):
    """A side input or a model."""

    path: Annotated[str, AfterValidator(check_data_path)] = key(
        rule="must be a path, a URL, a dataset or a datastore path", help_text="File or folder."
    )
    stage: Literal["auto", "copy", "in_place"] = key(
        "auto", rule="must be auto, copy or in_place", help_text="How nodes get it."
    )


StagedPathOrText = Annotated[StagedPath, BeforeValidator(_path_or_map)]


class EnvironmentSpec(SpecModel):
    """The interpreter of the user's code, and what is installed for it."""

    python: str | None = key(
        None,
        rule='must be a version in quotes, "3.11", or the path of an interpreter',
        help_text="Version, or path of an interpreter.",
        min_length=1,
    )
    requirements: list[str] | None = key(
        None,
        rule="must be a list of text",
        inner_rule="must be text",
        help_text="pip requirements.",
        kind="names",
    )
    requirements_file: str | None = key(
        None, rule="must be a path", help_text="File of pip requirements.", min_length=1
    )
    build_timeout: Number = timeout_seconds(1800, help_text="Seconds for its installation.")

    @model_validator(mode="after")
    def _one_list(self) -> EnvironmentSpec:
        if self.requirements is not None and self.requirements_file is not None:
            raise ValueError("give one of requirements and requirements_file")
        return self


class OutputSpec(SpecModel):
    """How results are written. None: what the format has as its default."""

    format: Literal["text", "csv", "jsonl", "parquet"] = key(
        "text", rule="must be text, csv, jsonl or parquet", help_text="Format of the file."
    )
    path: str | None = key(
        None,
        rule="must be the path of a folder",
        help_text="Folder; by default the job's own.",
        min_length=1,
    )
    overwrite: bool = yes_or_no(False, help_text="Replace a file that is there already.")
    sep: str | None = key(
        None,
        rule="must be one character",
        help_text="Between columns; by default text a blank, csv a comma.",
        min_length=1,
        max_length=1,
    )
    header: bool | None = yes_or_no(
        None, help_text="Names of columns on top; by default text no, csv yes."
    )
    index: bool | None = yes_or_no(None, help_text="Index as a column; by default no.")

    @property
    def effective_sep(self) -> str:
        default = "," if self.format == "csv" else " "
        return default if self.sep is None else self.sep


class NamedOutput(SpecModel):
    path: str | None = key(
        None,
        rule="must be the path of a folder",
        help_text="Folder; by default its name below the output folder.",
        min_length=1,
    )
