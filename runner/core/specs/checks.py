"""Rules over several keys of a specification, told together with those of single keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.core.problems import Problem, found_text
from runner.core.specs.paths import Location, path_text

MOST_TAGS = 50
MOST_TAG_KEY_CHARACTERS = 128
MOST_TAG_VALUE_CHARACTERS = 256


@dataclass(frozen=True)
class SpecLimits:
    """Limits that an operator may set, with their defaults."""

    nodes_per_job: int = 1000  # PRSWEB_MAX_NODES_PER_JOB
    least_timeout_seconds: int = 60  # PRSWEB_MIN_TIMEOUT_SECONDS
    override_characters: int = 8192  # PRSWEB_OVERRIDE_MAX_CHARS


DEFAULT_LIMITS = SpecLimits()

Check = Callable[[Mapping[str, Any], SpecLimits], Iterator[Problem]]


def needs(*names: str) -> Callable[[Callable[..., Iterable[Problem]]], Check]:
    """Make a check of a function of the values of ``names`` (and ``limits``, a keyword
    it may name). It is left out when one of them is wrong by itself."""

    def make(function: Callable[..., Iterable[Problem]]) -> Check:
        takes_limits = "limits" in function.__code__.co_varnames

        def check(values: Mapping[str, Any], limits: SpecLimits) -> Iterator[Problem]:
            if all(name in values for name in names):
                extra = {"limits": limits} if takes_limits else {}
                yield from function(*(values[name] for name in names), **extra)

        return check

    return make


def problem_at(location: Location, rule: str, *found: Any) -> Problem:
    """Return the problem; ``found`` is the value to show, if there is one."""
    return Problem(path_text(location), rule, found_text(found[0]) if found else None)


@needs("tags")
def tags_are_few_and_short(tags: dict[str, str]) -> Iterator[Problem]:
    if len(tags) > MOST_TAGS:
        yield problem_at(("tags",), f"at most {MOST_TAGS} tags", len(tags))
    for name, text in tags.items():
        if not 1 <= len(name) <= MOST_TAG_KEY_CHARACTERS:
            rule = f"a tag's name must have 1 to {MOST_TAG_KEY_CHARACTERS} characters"
            yield problem_at(("tags", name), rule, len(name))
        if len(text) > MOST_TAG_VALUE_CHARACTERS:
            rule = f"a tag's text must have at most {MOST_TAG_VALUE_CHARACTERS} characters"
            yield problem_at(("tags", name), rule, len(text))
