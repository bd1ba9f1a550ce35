"""A conda file as interpreter and pip requirements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.core.specs.azure.reading import Reading, below
from runner.core.specs.paths import Location

KEYS = ("name", "channels", "dependencies", "prefix", "variables")
_PYTHON = re.compile(r"python\s*(?:[=<>!~]+\s*(?P<version>[0-9]+(?:\.[0-9]+){0,2})\S*)?")
_CONDA = re.compile(r"(?:[^:\s]+::)?(?P<name>[A-Za-z0-9._-]+)\s*(?P<version>[=<>!~].*)?")
_FILE = re.compile(r"(?:-r|--requirement)[ =]\s*(?P<path>\S.*)")
_SDK = re.compile(r"azureml(?:[-_].*)?", re.IGNORECASE)


@dataclass
class _Found:
    python: str | None = None
    requirements: list[str] | None = None
    from_conda: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, requirement: str) -> None:
        if self.requirements is None:
            self.requirements = []
        if _SDK.fullmatch(re.split(r"[\[=<>!~; ]", requirement, maxsplit=1)[0]):
            self.left_out.append(requirement)
        else:
            self.requirements.append(requirement)


def environment_of_conda(
    reading: Reading, conda: Any, at: Location, folder: str
) -> dict[str, Any]:
    """Return our environment; ``folder`` is where the conda file lies.

    Source: https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/pkg-specs.html
    """
    members = reading.members(
        conda, at, KEYS, rule="must be a map, or the path of a conda file"
    )
    listed = members.get("dependencies", [])
    if not isinstance(listed, list):
        reading.refuse((*at, "dependencies"), "must be a list", listed)
        listed = []
    found = _Found()
    for index, one in enumerate(listed):
        _take(reading, one, (*at, "dependencies", index), found)
    _warn(reading, found, at)
    environment: dict[str, Any] = {}
    if found.python is not None:
        environment["python"] = found.python
    requirements = found.requirements
    if requirements is not None:
        environment["requirements"] = requirements
        file = _FILE.fullmatch(requirements[0]) if len(requirements) == 1 else None
        if file is not None:
            del environment["requirements"]
            environment["requirements_file"] = below(folder, file["path"])
    return environment


def _take(reading: Reading, one: Any, at: Location, found: _Found) -> None:
    if isinstance(one, Mapping):
        pip = reading.members(one, at, ("pip",)).get("pip", [])
        if not isinstance(pip, list) or any(not isinstance(text, str) for text in pip):
            reading.refuse((*at, "pip"), "must be a list of text", pip)
            return
        found.requirements = found.requirements or []
        for requirement in pip:
            found.add(requirement)
    elif not isinstance(one, str):
        reading.refuse(at, "must be the name of a package, or a map with pip", one)
    elif python := _PYTHON.fullmatch(one.strip()):
        found.python = python["version"]
    elif re.split(r"[=<>!~ ]", one, maxsplit=1)[0] not in ("pip", "setuptools", "wheel"):
        requirement = _requirement(one.strip())
        found.from_conda.append(requirement)
        found.add(requirement)


def _requirement(spec: str) -> str:
    """Return the pip requirement of ``numpy=1.21=py38_0``: ``numpy==1.21.*``."""
    match = _CONDA.fullmatch(spec)
    if match is None:
        return spec
    version = (match["version"] or "").strip()
    if version.startswith("=") and not version.startswith("=="):
        number = version[1:].split("=")[0].strip()
        return f"{match['name']}=={number.removesuffix('*').rstrip('.')}.*"
    return match["name"] + version


def _warn(reading: Reading, found: _Found, at: Location) -> None:
    if found.left_out:
        names = ", ".join(found.left_out)
        reading.warn(at, f"{names} is left out: azureml names that scripts use are built in.")
    kept = [one for one in found.from_conda if one not in found.left_out]
    if kept:
        reading.warn(at, f"conda packages are installed by pip: {', '.join(kept)}.")
