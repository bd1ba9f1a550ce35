"""Our job document made of a file of another system, with what was noticed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.problems import InvalidSpec, Problem, unwritable_in
from runner.core.specs.paths import Location, parse_path, path_text

MOST_WARNINGS = 1000
MOST_CHARACTERS = 10_000  # of one warning


class ImportedDocument(dict[str, Any]):
    """The keys of our job file, and beside them what their reader has to say.

    ``spelled``: the writer's own path of a value. ``problems``: what is wrong, with
    the place in our document that is then not checked again; () for none.
    """

    def __init__(self, document: Mapping[str, Any] = {}) -> None:
        super().__init__(document)
        self.warnings: list[str] = []
        self.spelled: dict[Location, str] = {}
        self.problems: list[tuple[Location, Problem]] = []

    def copy_of(self, document: Mapping[str, Any]) -> ImportedDocument:
        """Return ``document`` with the notes of this one."""
        copy = ImportedDocument(document)
        copy.warnings = list(self.warnings)
        copy.spelled = dict(self.spelled)
        copy.problems = list(self.problems)
        return copy

    def forget(self, location: Location) -> None:
        """Forget what was said of a value that somebody has set since, by our path."""

        def is_kept(told: Location) -> bool:
            length = min(len(told), len(location))
            return not length or told[:length] != location[:length]

        self.spelled = {
            at: text for at, text in self.spelled.items() if at[: len(location)] != location
        }
        self.spelled[location] = path_text(location)
        self.problems = [(at, one) for at, one in self.problems if is_kept(at)]

    def notes(self) -> dict[str, Any]:
        """Return warnings and spellings as JSON has them; problems do not travel."""
        spelled = {path_text(at): text for at, text in self.spelled.items()}
        return {"warnings": self.warnings, "spelled": spelled}


def with_notes(document: Mapping[str, Any], notes: Any) -> ImportedDocument:
    """Return the document with what ``notes()`` gave. Raises InvalidSpec for other data."""
    if not isinstance(notes, Mapping):
        raise _bad_notes()
    warnings: Any = notes.get("warnings", [])
    spelled: Any = notes.get("spelled", {})
    is_good = isinstance(warnings, list) and len(warnings) <= MOST_WARNINGS
    if not is_good or not isinstance(spelled, Mapping):
        raise _bad_notes()
    if not all(isinstance(one, str) for one in (*warnings, *spelled.values())):
        raise _bad_notes()
    if any(unwritable_in(one) or len(one) > MOST_CHARACTERS for one in warnings):
        raise _bad_notes()
    imported = ImportedDocument(document)
    imported.warnings = list(warnings)
    for path, text in spelled.items():
        location = parse_path(str(path))
        if location is not None:
            imported.spelled[location] = text
    return imported


def _bad_notes() -> InvalidSpec:
    rule = "must be {warnings: [text …], spelled: {path: text …}}, as ./prs submit sends it"
    return InvalidSpec([Problem("imported", rule)])
