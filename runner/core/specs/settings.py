"""Changing a document key by key: ``--set`` of the command line, forms, resubmission."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from runner.core.problems import InvalidSpec, Problem, found_text, unknown_name_rule
from runner.core.specs.azure import import_document
from runner.core.specs.bindings import split_names
from runner.core.specs.draft import restore_bindings
from runner.core.specs.fields import Shape, shape_of, word_of
from runner.core.specs.formats import model_of
from runner.core.specs.imported import ImportedDocument
from runner.core.specs.parsing import ALIAS, ALIASED
from runner.core.specs.paths import Location, parse_path, path_text

_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?([0-9]{1,18}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", re.ASCII)
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
# Kinds of which an empty text is no value: it takes the key away, back to its default.
_EMPTY_IS_NONE = ("integer", "number", "boolean", "size", "names", "path", "value")
_SHORT_FORMS = ("side_inputs", "models")  # a text there stands for {path: text}


def apply_settings(raw: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``raw`` with each setting put in at its path, ``inputs.0.path`` or
    ``inputs[0].path``.

    Text is converted by the type of its key, where it can be: what cannot is left
    for ``parse_spec`` to refuse in the words of the key. Other values (JSON of the
    API) are taken as they are. An empty text takes an optional value away. An
    entry just behind the last one of a list is added.
    ``raw`` may be what ``dump_spec`` gave: parameters and derived values follow; or a
    file of Azure, of which the answer is an ImportedDocument.
    Raises InvalidSpec for every path that leads nowhere.
    """
    raw = import_document(raw)
    model = model_of(raw)
    document: dict[str, Any] = copy.deepcopy(dict(raw))
    if isinstance(raw, ImportedDocument):
        document = raw.copy_of(document)
    restore_bindings(document)
    problems = []
    for path, value in settings.items():
        try:
            _put(document, model, path, value)
        except _BadPath as bad:
            problems.append(Problem(path, str(bad), found_text(value)))
    if problems:
        raise InvalidSpec(problems)
    return document


class _BadPath(ValueError):
    """The path of a setting leads nowhere. Fit to show."""


def _put(document: dict[str, Any], model: type[BaseModel], path: str, value: Any) -> None:
    location = parse_path(path.strip())
    if location is None:
        raise _BadPath("must be a key, like run_max_try or inputs.0.path")
    kind = _kind_at(model, location)
    if isinstance(document, ImportedDocument):
        document.forget(location)
    parent = _parent(document, location)
    last = location[-1]
    if isinstance(value, str):
        value = _value_of(
            value, kind, parent.get(str(last)) if isinstance(parent, dict) else None
        )
    if isinstance(parent, list):
        _put_entry(parent, last, value)
    elif value is None and isinstance(parent, dict):
        parent.pop(str(last), None)
    else:
        _forget_other_name(document, location)
        parent[str(last)] = value


def _forget_other_name(document: dict[str, Any], location: Location) -> None:
    other = {(ALIAS,): ALIASED, (ALIASED,): ALIAS}.get((str(location[0]),))
    if other is not None:
        document.pop(other, None)


def _put_entry(entries: list[Any], index: int | str, value: Any) -> None:
    if not isinstance(index, int):
        raise _BadPath("an entry of a list is named by its number, like inputs.0")
    if index > len(entries):
        raise _BadPath(_count_rule(entries))
    entries[index : index + 1] = [] if value is None else [value]


def _count_rule(entries: list[Any]) -> str:
    count = "is 1 entry" if len(entries) == 1 else f"are {len(entries)} entries"
    return f"there {count}, counted from 0"


def _parent(document: dict[str, Any], location: Location) -> Any:
    """Return the map or list that holds the value, made where it is missing."""
    current: Any = document
    for place, part in enumerate(location[:-1]):
        is_list_next = isinstance(location[place + 1], int)
        current = _inner(current, part, is_list_next, is_short=location[0] in _SHORT_FORMS)
    if not isinstance(current, dict | list):
        raise _BadPath(f"{location[-2]} is one value: set it as a whole")
    return current


def _inner(parent: Any, part: int | str, is_list_next: bool, *, is_short: bool) -> Any:
    missing: Any = [] if is_list_next else {}
    if isinstance(parent, dict):
        inner = parent.get(str(part))
        if inner is None:
            parent[str(part)] = inner = missing
        elif is_short and isinstance(inner, str):
            parent[str(part)] = inner = {"path": inner}
        return inner
    if not isinstance(parent, list):
        raise _BadPath(f"{part} lies in a value that holds nothing: set it as a whole")
    if not isinstance(part, int):
        raise _BadPath("an entry of a list is named by its number, like inputs.0")
    if part > len(parent):
        raise _BadPath(_count_rule(parent))
    if part == len(parent):
        parent.append(missing)
    return parent[part]


def _kind_at(model: type[BaseModel], location: Location) -> str:
    """Return what kind of value stands there. Raises _BadPath for an unknown name."""
    current: type[BaseModel] | None = model
    kind, shape = "value", Shape(None, model)
    parts = list(location)
    while parts and current is not None:
        field = _field(current, str(parts.pop(0)))
        kind, shape = word_of(field, "kind"), shape_of(field)
        if shape.container is not None and parts:
            _check_entry(shape, parts.pop(0))
            kind = _INNER_KINDS.get(kind, "value")
        current = shape.model
    if parts and kind not in _FREE:
        raise _BadPath(f"{path_text(location[: -len(parts)])} is one value: set it as a whole")
    # What is left lies in free values: rows, a list of paths, types of columns.
    return "text" if parts and kind == "path" else kind


_FREE = ("value", "path")
_INNER_KINDS = {
    "names": "text",
    "arguments": "text",
    "command": "text",
    "texts": "text",
    "parameters": "parameter",
}


def _field(model: type[BaseModel], name: str) -> FieldInfo:
    known = model.model_fields
    if name == ALIAS and ALIASED in known:
        name = ALIASED
    if name not in known or name == "bindings":
        names = [one for one in known if one != "bindings"]
        raise _BadPath(unknown_name_rule(name, names))
    return known[name]


def _check_entry(shape: Shape, part: int | str) -> None:
    if shape.container is list and not isinstance(part, int):
        raise _BadPath("an entry of a list is named by its number, like inputs.0")


def _value_of(text: str, kind: str, present: Any) -> Any:
    """Return the value that ``text`` stands for; the text itself where it is none."""
    if text == "" and kind in _EMPTY_IS_NONE:
        return None
    if "${{" in text:
        return text
    return _READERS.get(kind, lambda text, _: text)(text, present)


def _read_integer(text: str, _: Any) -> Any:
    return int(text) if _INTEGER.fullmatch(text.strip()) else text


def _read_number(text: str, _: Any) -> Any:
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _read_boolean(text: str, _: Any) -> Any:
    return _WORDS.get(text.strip().lower(), text)


def _read_names(text: str, _: Any) -> Any:
    return split_names(text)


def _read_list(text: str, _: Any) -> Any:
    """Arguments, a command, paths: a JSON list, else the text itself."""
    return _json(text) if text.lstrip().startswith("[") else text


def _read_value(text: str, _: Any) -> Any:
    """A map, a list, a number of free data: JSON, else the text itself."""
    return _json(text)


def _read_texts(text: str, _: Any) -> Any:
    return _json(text) if text.lstrip().startswith("{") else text


def _read_parameter(text: str, present: Any) -> Any:
    """By the type of the present value; another one makes text, as of a new parameter."""
    if isinstance(present, bool):
        return _read_boolean(text, None)
    if isinstance(present, int | float):
        return _read_number(text, None)
    if isinstance(present, list):
        return split_names(text)
    return text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "size": _read_integer,
    "names": _read_names,
    "arguments": _read_list,
    "command": _read_list,
    "path": _read_list,
    "texts": _read_texts,
    "parameters": _read_texts,
    "parameter": _read_parameter,
    "value": _read_value,
}
