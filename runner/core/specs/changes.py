"""What differs between two specifications, and what a resubmission starts from."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.core.specs.draft import restore_bindings
from runner.core.specs.paths import Location, path_text


@dataclass(frozen=True)
class Change:
    """One value that differs between two specifications."""

    path: str
    old: Any
    new: Any

    def to_dict(self) -> dict[str, Any]:
        return {"path": self.path, "old": self.old, "new": self.new}


def resubmission_base(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a resubmission starts from: the values that really ran, with the
    placeholders of parameters back in their places and derived values left out, so
    that a changed parameter, or a changed key that others follow, works.

    ``spec`` is what ``dump_spec`` gave.
    """
    base: dict[str, Any] = copy.deepcopy(dict(spec))
    restore_bindings(base)
    return base


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return every leaf that differs, in the order of ``new``; None stands for absent.

    A list of plain values is one leaf; of a list of maps each entry is compared.
    """
    changes: list[Change] = []
    _compare((), _without_bindings(old), _without_bindings(new), changes)
    return changes


def _without_bindings(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != "bindings"}


def _compare(location: Location, old: Any, new: Any, changes: list[Change]) -> None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*new, *old]):
            _compare((*location, name), old.get(name), new.get(name), changes)
    elif _is_list_of_maps(old) and _is_list_of_maps(new):
        for index in range(max(len(old), len(new))):
            _compare((*location, index), _entry(old, index), _entry(new, index), changes)
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        changes.append(Change(path_text(location), old, new))


def _is_list_of_maps(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, Mapping) for one in value)
    )


def _entry(value: list[Any], index: int) -> Any:
    return value[index] if index < len(value) else None
