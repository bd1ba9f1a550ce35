"""What a ParallelRunStep job works on: files, or the rows of a table."""

from __future__ import annotations

import codecs
import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, field_validator, model_validator

from runner.core.specs.data_paths import RULE as PATH_RULE
from runner.core.specs.data_paths import check_data_path
from runner.core.specs.model import IDENTIFIER_RULE, Identifier, SpecModel, key, yes_or_no
from runner.core.specs.partition_format import RULE as PARTITION_RULE
from runner.core.specs.partition_format import names_of_format

COLUMN_TYPES = ("int", "float", "bool", "string", "datetime")
TYPES_RULE = f"must be infer, string, mixed, or for each column {', '.join(COLUMN_TYPES)}"
MOST_ROWS_BYTES = 1024**2  # of inline rows, as JSON


def _format(text: str) -> str:
    names_of_format(text)
    return text


PartitionFormat = Annotated[str, AfterValidator(_format)]


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
        help_text="Between fields; by default a comma, for tsv a tab.",
        min_length=1,
        max_length=1,
    )
    encoding: str = key(
        "utf-8", rule="must be a codec that Python knows", help_text="Of the text."
    )
    header: Literal["every_file", "first_file", "none"] = key(
        "every_file",
        rule="must be every_file, first_file or none",
        help_text="Which files begin with the names of the columns.",
    )
    quoted_newlines: bool = yes_or_no(
        True, help_text="Whether a line break inside quotes belongs to the record."
    )
    types: Any = key("infer", rule=TYPES_RULE, help_text="Column types.", kind="value")
    columns: list[str] | None = key(
        None,
        rule="must be a list of text",
        inner_rule="must be text",
        help_text="Columns to keep, in this order.",
        kind="names",
    )
    path_column: str | None = key(
        None, rule="must be text", help_text="Name of a column that holds the file's path."
    )
    partition_format: PartitionFormat | None = key(
        None, rule=PARTITION_RULE, help_text="Columns read from the path."
    )
    query: str | None = key(None, rule="must be text", help_text="For sql: the query.")
    datastore: str | None = key(None, rule="must be text", help_text="For sql: whom to ask.")

    @field_validator("encoding")
    @classmethod
    def _known_codec(cls, value: str) -> str:
        try:
            codecs.lookup(value)
        except (LookupError, ValueError):
            raise ValueError("must be a codec that Python knows, like utf-8") from None
        return value

    @field_validator("types")
    @classmethod
    def _known_types(cls, value: Any) -> Any:
        if isinstance(value, str) and value in ("infer", "string", "mixed"):
            return value
        if isinstance(value, dict) and all(kind in COLUMN_TYPES for kind in value.values()):
            return value
        raise ValueError(TYPES_RULE)


class InputSpec(SpecModel):
    """One input."""

    name: Identifier = key(rule=IDENTIFIER_RULE, help_text="Name of the input.")
    type: Literal["files", "table"] = key(
        "files", rule="must be files or table", help_text="What its items are."
    )
    path: Any = key(
        None,
        rule=PATH_RULE,
        help_text="File, folder, glob, URL, dataset:NAME@3, datastore:NAME/path, "
        "or a list of these.",
        kind="path",
    )
    rows: list[dict[str, Any]] | None = key(
        None,
        rule="must be a list of maps, one a row",
        inner_rule="must be a map of columns to values",
        help_text="A small table itself, at most 1 MiB.",
        kind="value",
    )
    mode: Literal["local", "direct"] = key(
        "local", rule="must be local or direct", help_text="How remote files are given."
    )
    partition_format: PartitionFormat | None = key(
        None, rule=PARTITION_RULE, help_text="Keys read from the path."
    )
    ignore_unmatched: bool = yes_or_no(
        False, help_text="Leave out files that do not match partition_format."
    )
    table: TableOptions = key(
        TableOptions(), rule="must be a map", help_text="How the table is read.", kind="value"
    )

    @field_validator("path")
    @classmethod
    def _known_form(cls, value: Any) -> Any:
        if isinstance(value, list):
            if not value:
                raise ValueError(PATH_RULE)
            return [check_data_path(one) for one in value]
        return None if value is None else check_data_path(value)

    @field_validator("rows")
    @classmethod
    def _few_rows(cls, value: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        size = len(json.dumps(value, default=str))
        if size > MOST_ROWS_BYTES:
            raise ValueError(f"rows take at most {MOST_ROWS_BYTES} bytes as JSON, not {size}")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> InputSpec:
        is_asked = self.table.format == "sql" and self.table.datastore is not None
        sources = (self.path is not None) + (self.rows is not None) + is_asked
        if sources == 0:
            raise ValueError("needs a path (or rows)")
        if sources > 1:
            raise ValueError("takes one of path, rows and table.datastore")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths in their order; () for rows."""
        if self.path is None:
            return ()
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)

    @property
    def path_names(self) -> list[str]:
        """The keys that are read from the paths."""
        formats = (self.partition_format, self.table.partition_format)
        return [name for text in formats if text for name in names_of_format(text)]
