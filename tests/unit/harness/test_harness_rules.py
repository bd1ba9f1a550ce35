"""The harness is read by the user's interpreter: old syntax, the standard library only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from runner.harness import wire

FOLDER = Path(wire.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
OF_THE_JOB = {"pandas", "numpy", "azureml_user"}  # the job's environment has them, or says so


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_harness_file_can_be_read_by_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))

    assert not [node for node in ast.walk(tree) if type(node).__name__ == "Match"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_harness_file_imports_the_standard_library_and_itself_only(path: Path) -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(str(node.module).partition(".")[0])

    assert names <= set(sys.stdlib_module_names) | OF_THE_JOB


def test_annotations_are_never_evaluated() -> None:
    """Python 3.8 cannot evaluate ``list[int]`` or ``X | Y``."""
    late = "from __future__ import annotations"
    annotated = [
        path
        for path in FILES
        if any(
            isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]

    assert [path.name for path in annotated if late not in path.read_text()] == []
