"""Settings of a step that files of Azure give as arguments of its script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.specs.parallel_run_step import ParallelRunStepSpec
from runner.core.specs.step_arguments import SETTINGS


def option_words(document: Mapping[str, Any], *also: str) -> list[str]:
    """Return ``--name=value`` of each setting that is not the default; ``also``: further
    names of keys that the format has no key for."""
    fields = ParallelRunStepSpec.model_fields
    words = []
    for name in (*SETTINGS, *also):
        value = document.get(name)
        if value is None or value == fields[name].get_default():
            continue
        words.append(f"--{name}={_text(value)}")
    return words


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)
