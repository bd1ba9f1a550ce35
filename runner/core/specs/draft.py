"""A specification on its way from what was written to what is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.core.problems import InvalidSpec, Problem, found_text, unwritable_in
from runner.core.specs.imported import ImportedDocument
from runner.core.specs.paths import (
    Location,
    parse_path,
    path_text,
    put_at,
    remove_at,
    value_at,
)

MOST_DEPTH = 40


@dataclass
class Draft:
    """The document as it is rewritten, and what was noticed meanwhile."""

    document: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    templates: dict[Location, str] = field(default_factory=dict)  # where parameters were put in
    spelled: dict[Location, str] = field(default_factory=dict)  # the writer's own path
    unread: list[Location] = field(default_factory=list)  # told already: not checked again
    is_imported: bool = False  # made of a file of another system

    def path_of(self, location: Location) -> str:
        """Return the path of ``location`` as the writer spells it."""
        for length in range(len(location), 0, -1):
            if own := self.spelled.get(location[:length]):
                return own + _tail(location[length:])
        return path_text(location)

    def refuse(self, location: Location, rule: str, *found: Any) -> None:
        """Note a problem; the value there is not checked again."""
        text = found_text(found[0]) if found else None
        self.problems.append(Problem(self.path_of(location), rule, text))
        self.unread.append(location)

    def is_told(self, location: Location) -> bool:
        """Whether the value there, or one that holds it, was refused already."""
        return any(location[: len(told)] == told for told in self.unread)


def _tail(location: Location) -> str:
    text = path_text(("", *location)) if location else ""
    return text.removeprefix('[""]')


def draft_of(raw: Mapping[str, Any]) -> Draft:
    """Return a draft over a copy of ``raw``. Raises InvalidSpec for what is no plain data."""
    problems: list[Problem] = []
    document = _copy(raw, (), problems)
    if problems:
        raise InvalidSpec(problems)
    return _imported(raw, document) if isinstance(raw, ImportedDocument) else Draft(document)


def _imported(raw: ImportedDocument, document: dict[str, Any]) -> Draft:
    return Draft(
        document,
        problems=[problem for _, problem in raw.problems],
        warnings=list(raw.warnings),
        spelled=dict(raw.spelled),
        unread=[location for location, _ in raw.problems if location],
        is_imported=True,
    )


def _copy(value: Any, location: Location, problems: list[Problem]) -> Any:
    if len(location) > MOST_DEPTH:
        problems.append(Problem(path_text(location[:3]), f"is nested deeper than {MOST_DEPTH}"))
        return None
    if isinstance(value, Mapping):
        return {
            _copy(str(name), location, problems): _copy(one, (*location, str(name)), problems)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_copy(one, (*location, index), problems) for index, one in enumerate(value)]
    if isinstance(value, str) and (bad := unwritable_in(value)):
        rule = f"holds the character {bad}, which cannot be kept"
        problems.append(Problem(path_text(location), rule))
    return value


def restore_bindings(document: dict[str, Any]) -> None:
    """Put what was written back in the places that ``bindings`` names, and remove it.

    A text: it stood there, with placeholders. None: nothing did, the value was
    derived. So a changed parameter, or a changed key that others follow, works.
    """
    bindings = document.pop("bindings", None)
    if not isinstance(bindings, Mapping):
        return
    for path, template in bindings.items():
        location = parse_path(str(path))
        if location is None or value_at(document, location[:-1]) is None:
            continue
        if template is None:
            remove_at(document, location)
        elif isinstance(template, str):
            put_at(document, location, template)
