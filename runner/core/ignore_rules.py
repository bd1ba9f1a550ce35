"""Which files of a code folder are left out of the snapshot. Pure.

Source: the pattern format of gitignore, https://git-scm.com/docs/gitignore,
which ``.amlignore`` shares. Only the file at the root of the folder counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

IGNORE_FILES = (".amlignore", ".gitignore")  # the first that exists counts alone
ALWAYS_IGNORED = (".git/", "__pycache__/")


@dataclass(frozen=True)
class _Rule:
    expression: re.Pattern[str]
    is_negated: bool
    is_folder_only: bool


class IgnoreRules:
    """The last rule that matches decides; inside an ignored folder nothing is looked at."""

    def __init__(self, lines: Sequence[str]) -> None:
        parsed = (_parse(line) for line in (*ALWAYS_IGNORED, *lines))
        self._rules = [rule for rule in parsed if rule is not None]

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether ``path``, relative with ``/``, is left out."""
        ignored = False
        for rule in self._rules:
            if rule.is_folder_only and not is_folder:
                continue
            if rule.expression.fullmatch(path):
                ignored = not rule.is_negated
        return ignored


def _parse(line: str) -> _Rule | None:
    text = line.rstrip("\r\n")
    text = re.sub(r"(?<!\\)\s+$", "", text)
    if not text or text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    if is_negated:
        text = text[1:]
    text = text.removeprefix("\\") if text[:2] in (r"\#", r"\!") else text
    is_folder_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    # A slash inside ties the pattern to the root; without one it fits at any depth.
    is_anchored = "/" in text
    pattern = _expression(text.lstrip("/"))
    if not is_anchored:
        pattern = f"(?:.*/)?{pattern}"
    return _Rule(re.compile(pattern, re.DOTALL), is_negated, is_folder_only)


def _expression(pattern: str) -> str:
    out = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("/**", at) and at + 3 == len(pattern):
            out.append("/.*")
            at += 3
        elif pattern[at] == "*":
            out.append("[^/]*")
            at += 1
        elif pattern[at] == "?":
            out.append("[^/]")
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\")
            inner = f"^{inner[1:]}" if inner.startswith(("!", "^")) else inner
            out.append(f"[{inner}]")
            at = end + 1
        elif pattern[at] == "\\" and at + 1 < len(pattern):
            out.append(re.escape(pattern[at + 1]))
            at += 2
        else:
            out.append(re.escape(pattern[at]))
            at += 1
    return "".join(out)
