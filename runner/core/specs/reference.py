"""The table of keys, made from the models: help texts of the form, and the docs page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from runner.core.problems import found_text
from runner.core.specs.fields import Shape, is_offered, shape_of, word_of
from runner.core.specs.formats import MODELS
from runner.core.specs.step_arguments import OUTPUT, RESERVED, SETTINGS

INTERNAL = ("bindings",)  # written by us, for nobody to set

TYPE_WORDS = {
    "text": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true/false",
    "size": "whole number or text",
    "path": "text, or a list of text",
    "names": "list of text",
    "arguments": "list of text, or one text",
    "command": "list of text, or one text",
    "texts": "map of text",
    "parameters": "map of values",
}
_ENTRIES: dict[type | None, str] = {list: "[]", dict: ".NAME"}
_TITLES = {
    "parallel_run_step": "an entry script called over many files or rows",
    "multi_node": "one job over several nodes",
    "command": "a plain job, or an array of them",
}


@dataclass(frozen=True)
class Key:
    """One key of a job file, in words."""

    path: str  # "inputs[].path"; an entry of a list is [], a member of a map .NAME
    type_text: str  # "whole number"
    default: Any  # None also where there is none; see is_required
    is_required: bool
    rule: str  # what is allowed: "must be a whole number of at least 1"
    help_text: str
    is_offered: bool  # in front in the resubmission form
    kind: str  # text, integer, number, boolean, size, names, arguments, texts, value …


def keys_of(kind: str) -> list[Key]:
    """Return the keys of one kind of job, inner ones after theirs."""
    return _keys(MODELS[kind], "")


def key_of(kind: str, path: str) -> Key | None:
    """Return the key in words, or None if there is none; ``path`` as in ``Key``."""
    return next((one for one in keys_of(kind) if one.path == path), None)


def _keys(model: type[BaseModel], before: str) -> list[Key]:
    found = []
    for name, field in _kind_first(model).items():
        if name in INTERNAL:
            continue
        path, shape = f"{before}{name}", shape_of(field)
        found.append(_key(path, field, shape))
        if shape.model is not None:
            entry = _ENTRIES.get(shape.container, "")
            found += _keys(shape.model, f"{path}{entry}.")
    return found


def _kind_first(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of the model; those that it inherits stand behind its kind."""
    fields = dict(model.model_fields)
    return {name: fields[name] for name in ("kind", "name") if name in fields} | fields


def _key(path: str, field: FieldInfo, shape: Shape) -> Key:
    default = field.get_default(call_default_factory=True, validated_data={})
    kind = word_of(field, "kind") or "value"
    return Key(
        path=path,
        type_text=_type_text(kind, shape),
        default=None if default is PydanticUndefined else default,
        is_required=field.is_required(),
        rule=word_of(field, "rule"),
        help_text=field.description or "",
        is_offered=is_offered(field),
        kind=kind,
    )


def _type_text(kind: str, shape: Shape) -> str:
    if kind in TYPE_WORDS:
        return TYPE_WORDS[kind]
    if shape.container is list:
        return "list of maps"
    return "map" if shape.model is not None else "value"


def reference_page() -> str:
    """Return ``docs/job-file.md``."""
    parts = [_INTRODUCTION]
    for kind, title in _TITLES.items():
        parts += [f"## kind: {kind}", "", f"The keys of {title}.", "", _table(kind)]
    return "\n".join([*parts, _arguments_text()])


def _table(kind: str) -> str:
    head = ["| key | type | default | allowed | P | meaning |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *map(_row, keys_of(kind)), ""])


def _row(one: Key) -> str:
    default = "required" if one.is_required else _default_text(one.default)
    offered = "P" if one.is_offered else ""
    allowed = one.rule.removeprefix("must be ").removeprefix("must ")
    cells = (f"`{one.path}`", one.type_text, default, allowed, offered, one.help_text)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{'{}' if isinstance(value, BaseModel) else found_text(value)}`"


def _arguments_text() -> str:
    def names(group: tuple[str, ...]) -> str:
        return " ".join(f"`--{name}`" for name in group)

    return f"""## Arguments of a ParallelRunStep job

`arguments` belong to the script. These names, exactly so and never abbreviated, are
settings:

| names | rule |
|---|---|
| {names(RESERVED)} | refused: use the key of that name |
| {names(SETTINGS)} | the same as the key of that name, with its rules |
| `--{OUTPUT[0]}` | the same as `output.header` |
| `--{OUTPUT[1]}` | no effect: the output is always safe |
| `--{OUTPUT[2]}` | the same as `table.types: mixed` of each table |
| `--amlbi_async_mode` | refused: the script must have run() |

A name that differs from one of these by a letter or two is passed to the script, with a
warning. No further name is ever reserved silently.
"""


_INTRODUCTION = """# The job file

Made from the models in `runner/core/specs`; a test compares. The same names serve the YAML
file, the form, the REST API and `--set` (`--set run_max_try=5`, `--set
inputs.0.path=/data/b`, `--set parameters.batch=50`).

A job file is YAML or JSON with one map of keys, at most 4 MiB. Values are read as in YAML
1.2: `true` and `false` are the only truth values, a number in quotes is text, and nothing is
rounded. Aliases, and a key that stands twice, are refused.

In the tables `[]` stands for the number of an entry, counted from 0, and `NAME` for a name of
yours. **P**: offered first in the resubmission form. Every key may be set at a resubmission.

A relative path is relative to the job file. In the form and through the API paths are
absolute.

**References** (kind `parallel_run_step`). `${{parameters.X}}` is replaced by the parameter. A
value that is one reference takes the parameter's type; inside longer text it becomes text.
`${{inputs.X}}`, `${{side_inputs.X}}`, `${{models.X}}` and `${{outputs.X}}` may stand in
`arguments` and `environment_variables` and give the path on the node.

**`spec.json`** in a job's folder is this file once more, complete: every key stands in it,
with the value in effect. Its `bindings` name the values that came from a parameter (path →
what was written) or followed from other keys (path → null).
"""
