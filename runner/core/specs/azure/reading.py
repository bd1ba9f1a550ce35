"""A file of Azure on its way to our document: what is taken, warned of and refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from runner.core.problems import InvalidSpec, Problem, found_text, unknown_name_rule
from runner.core.specs.data_paths import is_relative
from runner.core.specs.imported import ImportedDocument
from runner.core.specs.job_file import load_job_file
from runner.core.specs.paths import Location, path_text

ReadFile = Callable[[str], str]


class UnreadableFile(ValueError):
    """A file that the document names cannot be read. Fit to show."""


class Reading:
    """What becomes of one file."""

    def __init__(self, read_file: ReadFile | None) -> None:
        self.document = ImportedDocument()
        self._read_file = read_file

    def put(self, target: Location, value: Any, at: Location) -> None:
        """Put ``value``, which stands at ``at`` of the file, at ``target`` of ours."""
        current: dict[str, Any] = self.document
        for part in target[:-1]:
            current = current.setdefault(str(part), {})
        current[str(target[-1])] = value
        self.spell(target, at)

    def spell(self, target: Location, at: Location) -> None:
        self.document.spelled[target] = path_text(at)

    def warn(self, at: Location, text: str) -> None:
        self.document.warnings.append(f"{path_text(at)}: {text}")

    def refuse(self, at: Location, rule: str, *found: Any, target: Location = ()) -> None:
        """Note a problem; the value at ``target`` of our document is not checked again."""
        text = found_text(found[0]) if found else None
        self.document.problems.append((target, Problem(path_text(at), rule, text)))

    def members(
        self, value: Any, at: Location, known: Sequence[str], *, rule: str = "must be a map"
    ) -> dict[str, Any]:
        """Return the members of a map but for those without a value.

        Unknown names are refused, with the one that was probably meant.
        """
        if not isinstance(value, Mapping):
            if value is not None:
                self.refuse(at, rule, value)
            return {}
        found = {}
        for name, one in value.items():
            if name not in known:
                self.refuse((*at, name), unknown_name_rule(name, known))
            elif one is None:
                self.warn((*at, name), "null is read as the default.")
            else:
                found[name] = one
        return found

    def ignore(
        self, members: Mapping[str, Any], at: Location, reasons: Mapping[str, str]
    ) -> None:
        """Warn of each member that has no meaning here."""
        for name, reason in reasons.items():
            if name in members:
                self.warn((*at, name), f"has no effect here: {reason}.")

    def texts(self, value: Any, at: Location) -> Any:
        """Return a map of text: numbers, true and false as they are written."""
        if not isinstance(value, Mapping):
            return value
        for name, one in value.items():
            if isinstance(one, int | float):
                self.warn((*at, name), f"{found_text(one)} is read as text.")
        return {
            name: found_text(one) if isinstance(one, int | float) else one
            for name, one in value.items()
        }

    def can_read(self) -> bool:
        return self._read_file is not None

    def text_of(self, path: str) -> str:
        """Return the text of a file beside the document. Raises UnreadableFile."""
        if self._read_file is None:
            raise UnreadableFile(
                "names a file beside this one, which ./prs submit reads; "
                "in the form and the API write it inline"
            )
        return self._read_file(path)

    def map_of(self, path: str, at: Location) -> dict[str, Any] | None:
        """Return the map that a YAML or JSON file holds; None after refusing it."""
        try:
            return load_job_file(self.text_of(path))
        except UnreadableFile as error:
            self.refuse(at, str(error), path)
        except InvalidSpec as invalid:
            self.refuse(at, f"{path}: {invalid.problems[0]}")
        return None


def without_scheme(path: str) -> str:
    """Return the path of ``file:./env.yml``."""
    return path.removeprefix("file:")


def folder_of(path: str) -> str:
    return str(PurePosixPath(path).parent)


def below(folder: str, path: str) -> str:
    """Return a path that was relative to ``folder`` as one relative to the document."""
    path = without_scheme(path)
    if not is_relative(path) or path.startswith("azureml:") or folder in ("", "."):
        return path
    return str(PurePosixPath(folder) / path)
