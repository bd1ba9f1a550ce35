"""``${{inputs.X}}`` and its kin in arguments and environment variables: paths on this node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.core.placeholders import fill_placeholders
from runner.node.step_spec import StepSpec

Paths = Mapping[str, Mapping[str, str]]  # group -> name -> path


def find_reference_paths(spec: StepSpec, output_folder: Path) -> Paths:
    """Return the path that each name stands for on this node.

    An input of several paths gives them joined by blanks; one of inline rows has none.
    """
    return {
        "inputs": {str(one.get("name")): _input_path(one) for one in spec.inputs},
        "side_inputs": dict(spec.side_inputs),
        "models": dict(spec.models),
        "outputs": {
            name: path or str(output_folder / name) for name, path in spec.outputs.items()
        },
    }


def fill_arguments(arguments: list[str], paths: Paths) -> list[str]:
    return [fill_placeholders(one, paths) for one in arguments]


def fill_variables(variables: Mapping[str, str], paths: Paths) -> dict[str, str]:
    return {name: fill_placeholders(text, paths) for name, text in variables.items()}


def _input_path(given: Mapping[str, Any]) -> str:
    path = given.get("path")
    if isinstance(path, str):
        return path
    return " ".join(str(one) for one in path or ())
