"""``${{inputs.X}}`` of a v2 file as our references, which tell data from values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from runner.core.placeholders import PARAMETERS, placeholders_in, whole_placeholder
from runner.core.problems import nearest_name
from runner.core.specs.azure.data import Groups
from runner.core.specs.azure.numbers import number_of
from runner.core.specs.azure.reading import Reading
from runner.core.specs.paths import Location

_REFERENCE = re.compile(r"\$\{\{\s*(?P<group>[A-Za-z_]+)\.(?P<name>[^}]*?)\s*\}\}")
_OPTIONAL = re.compile(r"\$\[\[(?P<inner>.*?)\]\]", re.DOTALL)


class References:
    """What the references of one file mean."""

    def __init__(self, reading: Reading, groups: Groups, outputs: list[str]) -> None:
        self._reading, self._groups, self._outputs = reading, groups, outputs

    def rewritten(self, value: Any, at: Location) -> Any:
        """Return the value with our references in it; what is none is refused."""
        if isinstance(value, dict):
            return {name: self.rewritten(one, (*at, name)) for name, one in value.items()}
        if isinstance(value, list):
            return [self.rewritten(one, (*at, index)) for index, one in enumerate(value)]
        if not isinstance(value, str) or "${{" not in value:
            return value
        return _REFERENCE.sub(self._rewriter(value, at), value)

    def without_optional(self, text: str) -> str:
        """Return the text without each ``$[[--x ${{inputs.x}}]]`` whose input has no value."""

        def kept(match: re.Match[str]) -> str:
            names = [one.name for one in placeholders_in(match["inner"])]
            is_given = all(self._groups.get(name, "") is not None for name in names)
            return match["inner"] if is_given else ""

        return _OPTIONAL.sub(kept, text)

    def number(self, value: Any) -> Any:
        """Return a number, or a reference to a parameter that is one.

        v2 files write numbers as text, and so may the values of their inputs.
        """
        found = whole_placeholder(value) if isinstance(value, str) else None
        if found is None:
            return number_of(value)
        parameters = self._reading.document.get(PARAMETERS, {})
        text = parameters.get(found.name)
        if found.group != "inputs" or not isinstance(text, str):
            return value
        number = number_of(text)
        if str(number) == text and not isinstance(number, str):
            parameters[found.name] = number
            return value
        return value if isinstance(number, str) else number

    def value(self, value: Any) -> Any:
        """Return the value itself where ``value`` is a reference to one."""
        found = whole_placeholder(value) if isinstance(value, str) else None
        if found is None or found.group != "inputs":
            return value
        return self._reading.document.get(PARAMETERS, {}).get(found.name, value)

    def _rewriter(self, text: str, at: Location) -> Callable[[re.Match[str]], str]:
        def rewrite(match: re.Match[str]) -> str:
            group, name = match["group"], match["name"]
            if group == "parent":
                rule = f"{match[0]} is known in a pipeline only: write the value itself"
                self._reading.refuse(at, rule, text)
            elif group == "inputs":
                return self._input(match[0], name, text, at)
            elif group == "outputs" and name in self._outputs:
                return match[0]
            elif group == "outputs":
                self._reading.refuse(at, _unknown("output", name, self._outputs), text)
            else:
                self._reading.refuse(at, f"{match[0]} names no input and no output", text)
            return ""

        return rewrite

    def _input(self, written: str, name: str, text: str, at: Location) -> str:
        if name not in self._groups:
            self._reading.refuse(at, _unknown("input", name, list(self._groups)), text)
            return ""
        group = self._groups[name]
        if group is None:
            self._reading.refuse(at, f"the optional input {name} has no value", text)
            return ""
        return f"${{{{{group}.{name}}}}}"


def _unknown(kind: str, name: str, known: list[str]) -> str:
    near = nearest_name(name, known)
    hint = (
        f", did you mean {kind}s.{near}?"
        if near
        else f"; there are {', '.join(known) or 'none'}"
    )
    return f"there is no {kind} {name}{hint}"
