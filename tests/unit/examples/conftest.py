"""Loads an example's scripts as its job does: from their own folder, by their plain names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
SHIM = ROOT / "runner" / "harness" / "shim"


@pytest.fixture
def examples() -> Path:
    return EXAMPLES


@pytest.fixture
def load_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[[str, str], ModuleType]]:
    """Gives a script of an example, loaded anew, with a temporary working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["score.py"])
    monkeypatch.syspath_prepend(str(SHIM))
    loaded_before = set(sys.modules)

    def load(example: str, name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(EXAMPLES / example))
        return importlib.import_module(name)

    yield load
    for name in set(sys.modules) - loaded_before:
        if is_of_an_example(sys.modules[name]):
            del sys.modules[name]


def is_of_an_example(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None) or ""
    return file.startswith((str(EXAMPLES), str(SHIM)))
