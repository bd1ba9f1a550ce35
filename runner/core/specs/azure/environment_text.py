"""Our environment as Azure writes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def conda_of(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conda file of interpreter version and requirements."""
    dependencies: list[Any] = []
    python = environment.get("python")
    if python is not None and not is_interpreter(python):
        dependencies.append(f"python={python}")
    requirements = environment.get("requirements")
    if file := environment.get("requirements_file"):
        requirements = [f"-r {file}"]
    if requirements is not None:
        dependencies.append({"pip": requirements})
    return {"dependencies": dependencies}


def is_interpreter(python: str) -> bool:
    """Whether it is the path of an interpreter, and no version."""
    return "/" in python
