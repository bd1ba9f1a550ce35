"""What is pinned, what is documented and what is asked for are the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

import prsweb

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"^([A-Za-z0-9_.-]+)", re.MULTILINE)
PIN = re.compile(r"^([a-z0-9_.-]+)==([^ ;\\]+)", re.MULTILINE)
DOCUMENTED = re.compile(r"^\| ([A-Za-z0-9-]+) \|", re.MULTILINE)


def asked_for(name: str) -> set[str]:
    lines = (ROOT / name).read_text().splitlines()
    return {NAME.match(line)[1] for line in lines if NAME.match(line)}  # type: ignore[index]


def pins(name: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / name).read_text()))


def test_every_direct_dependency_has_its_line() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text().split("## In the browser")[0]

    documented = set(DOCUMENTED.findall(text)) - {"package"}

    assert documented == asked_for("requirements.in") | {
        name for name in asked_for("requirements-dev.in") if not name.startswith("-")
    }


def test_both_locks_pin_the_same_version_of_what_both_need() -> None:
    runtime, development = pins("requirements.txt"), pins("requirements-dev.txt")

    differing = {
        name for name in runtime.keys() & development if runtime[name] != development[name]
    }

    assert differing == set()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_a_lock_names_no_registry_and_hashes_all(name: str) -> None:
    text = (ROOT / name).read_text()

    assert "://" not in text
    unhashed = [
        block.splitlines()[0]
        for block in re.split(r"\n(?=[a-z])", text)
        if "==" in block.splitlines()[0] and "--hash=sha256:" not in block
    ]
    assert unhashed == []


def test_the_browser_draws_with_the_plotly_that_makes_the_figures() -> None:
    table = (ROOT / "static" / "vendor" / "README.md").read_text()

    assert f"| plotly.js-cartesian-dist-min | {get_plotlyjs_version()} |" in table


def test_the_version_is_the_same_in_code_and_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == prsweb.__version__
