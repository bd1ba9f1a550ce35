"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A row is born with its first state where it is made; moves are written in one place.
UPDATES = {"update", "bulk_update"}
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PATH_IN_DOCS = re.compile(r"`((?:runner|prsweb|tests|docs|examples|bench)/[\w./-]+?)/?`")


def modules(*packages: str) -> list[Path]:
    return [
        path
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
    ]


def writes_a_state(tree: ast.AST) -> bool:
    """Does the module update the column ``state`` of rows?"""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        names = {keyword.arg for keyword in node.keywords}
        if node.func.attr in UPDATES and "state" in names:
            return True
    return False


def test_a_state_is_written_by_the_transitions_alone() -> None:
    writers = [
        str(path.relative_to(ROOT))
        for path in modules("prsweb", "runner")
        if writes_a_state(ast.parse(path.read_text()))
    ]

    assert set(writers) <= {"prsweb/jobs/transitions.py"}


def test_the_rule_sees_a_state_that_is_written_elsewhere() -> None:
    elsewhere = ast.parse("Job.objects.filter(pk=1).update(state='FAILED')")

    assert writes_a_state(elsewhere)


@pytest.mark.parametrize("module", ["runner.tasks", "runner.node.main", "runner.node.agent"])
def test_a_node_loads_no_database(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "", "PYTHONPATH": str(ROOT)}

    loaded = subprocess.check_output(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, text=True
    ).split()

    # kombu loads django.utils where Django is installed; that is harmless
    assert not {"prsweb", "django.db", "pydantic", "pandas"} & set(loaded)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_files_that_are_there(page: Path) -> None:
    named = PATH_IN_DOCS.findall(page.read_text())

    missing = [name for name in named if "NAME" not in name and not any(ROOT.glob(name))]

    assert missing == []
