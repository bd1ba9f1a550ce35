"""Reading the text of a job file, YAML or JSON, within bounds."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from typing import Any

import yaml

from runner.core.problems import InvalidSpec, Problem, found_text

MOST_BYTES = 4 * 1024 * 1024
MOST_DEPTH = 40
MOST_VALUES = 500_000
_MOST_DIGITS = 30  # of a whole number

# The C parser where the installed PyYAML has it: 20 times faster.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _JobFileLoader(_Parser):  # type: ignore[misc]
    """The plain values of YAML 1.2, which are those of JSON, and no key twice.

    YAML 1.1, PyYAML's own reading, makes 63 of ``1:3``, false of ``no``, 8 of
    ``010`` and a date of ``2026-01-31``.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors: dict[str | None, Any] = {}

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        members: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            name = self.construct_object(key_node, deep=True)
            if not isinstance(name, str):
                raise _fault(f"the key {found_text(name)} must be text: quote it", key_node)
            if name in members:
                raise _fault(f"the key {name} stands twice", key_node)
            members[name] = self.construct_object(value_node, deep=True)
        return members

    def construct_yaml_map(self, node: yaml.MappingNode) -> dict[Hashable, Any]:
        return self.construct_mapping(node)

    def construct_yaml_seq(self, node: yaml.SequenceNode) -> list[Any]:
        return [self.construct_object(one, deep=True) for one in node.value]

    def construct_whole_number(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > _MOST_DIGITS:
            raise _fault(f"a number has at most {_MOST_DIGITS} digits", node)
        return int(node.value)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        return float(node.value)

    def construct_yes_or_no(self, node: yaml.ScalarNode) -> bool:
        return str(node.value).lower() == "true"

    def construct_nothing(self, node: yaml.ScalarNode) -> None:
        return None

    def construct_text(self, node: yaml.ScalarNode) -> str:
        return str(node.value)

    def construct_other(self, node: yaml.Node) -> Any:
        raise _fault(f"the tag {node.tag} is not known here", node)


def _fault(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)


_TAG = "tag:yaml.org,2002:"
# Tag, pattern and first characters of the plain values that are no text.
IMPLICIT_VALUES = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
)
for _name, _pattern, _first in IMPLICIT_VALUES:
    _JobFileLoader.add_implicit_resolver(
        f"{_TAG}{_name}", re.compile(f"(?:{_pattern})\\Z", re.ASCII), list(_first)
    )
for _name, _construct in (
    ("map", _JobFileLoader.construct_yaml_map),
    ("seq", _JobFileLoader.construct_yaml_seq),
    ("str", _JobFileLoader.construct_text),
    ("int", _JobFileLoader.construct_whole_number),
    ("float", _JobFileLoader.construct_number),
    ("bool", _JobFileLoader.construct_yes_or_no),
    ("null", _JobFileLoader.construct_nothing),
):
    _JobFileLoader.add_constructor(f"{_TAG}{_name}", _construct)
_JobFileLoader.add_constructor(None, _JobFileLoader.construct_other)


def load_job_file(text: str) -> dict[str, Any]:
    """Return the map that the file holds. Raises InvalidSpec with the line of the fault."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise InvalidSpec([Problem("", f"the file is larger than {MOST_BYTES // 1024**2} MiB")])
    raw = _load_json(text) if text.lstrip().startswith(("{", "[")) else None
    if raw is None:
        raw = _load_yaml(text)
    if isinstance(raw, list) and any(
        isinstance(one, dict) and "jobDefinition" in one for one in raw
    ):
        raise InvalidSpec(
            [Problem("", "this is a list of AWS Batch JSON, which is not read yet")]
        )
    if not isinstance(raw, dict):
        rule = "must be a map of keys to values, beginning with kind:"
        raise InvalidSpec([Problem("", rule, None if raw is None else found_text(raw))])
    return raw


def _load_json(text: str) -> Any:
    """Return the value, or None when it is no JSON: it may be YAML in braces."""
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_no_constant)
    except json.JSONDecodeError:
        return None
    except RecursionError:
        raise InvalidSpec([Problem("", f"is nested deeper than {MOST_DEPTH}")]) from None
    except ValueError as error:
        raise InvalidSpec([Problem("", f"is no JSON of a job: {error}")]) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"the key {name} stands twice")
        members[name] = value
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _load_yaml(text: str) -> Any:
    try:
        _check_events(text)
        return yaml.load(text, _JobFileLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        rule = f"is no YAML: {error.problem or error.context}"
        raise InvalidSpec([Problem(where, rule)]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise InvalidSpec([Problem("", f"is no YAML: {first_line}")]) from None


def _check_events(text: str) -> None:
    """Refuse what would grow or nest without bound, before anything is built of it."""
    events: Iterator[Any] = yaml.parse(text, Loader=_Parser)
    depth = 0
    for count, event in enumerate(events):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, yaml.AliasEvent):
            rule = "aliases are not allowed: write the value again"
        elif depth > MOST_DEPTH or count > MOST_VALUES:
            rule = f"nested deeper than {MOST_DEPTH}, or more than {MOST_VALUES} values"
        else:
            continue
        raise yaml.MarkedYAMLError(problem=rule, problem_mark=_mark_of(event))


def _mark_of(event: Any) -> Any:
    """Return where it begins; the C parser has a mark of its own kind."""
    return event.start_mark
