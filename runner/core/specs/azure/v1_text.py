"""A step as a v1 file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.specs.azure.environment_text import conda_of, is_interpreter
from runner.core.specs.azure.step_options import option_words
from runner.core.specs.azure.v1_keys import BESIDE, SAME, STEP_KEYS, TOP
from runner.core.specs.changes import resubmission_base
from runner.core.specs.inputs import TableOptions

_COUNT, _OUR_COUNT = "allowed_failed_count", "mini_batch_error_threshold"
_PLAIN_TABLE = TableOptions().model_dump(mode="json")


def v1_document(dumped: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a v1 file of what ``dump_spec`` gave."""
    spec = resubmission_base(dumped)
    config = {}
    for name in SAME:
        value = spec.get(_OUR_COUNT if name == _COUNT else name)
        if value is not None:
            config[name] = value
    config["environment_variables"] = spec["environment_variables"]
    config["compute_target_name"] = spec["queue"]
    if spec["environment"] is not None:
        config["environment"] = _environment(spec["environment"])
    step = {name: spec[name] for name in STEP_KEYS if spec[name] is not None}
    step["inputs"] = [_input(one) for one in spec["inputs"]]
    step["arguments"] = [*spec["arguments"], *option_words(spec)]
    step["output"] = _given(spec["output"])
    return {TOP: config, BESIDE: step}


def _given(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members but for those without a value."""
    return {name: value for name, value in members.items() if value is not None}


def _input(one: Mapping[str, Any]) -> dict[str, Any]:
    entry = _given(one)
    table = entry.pop("table")
    return entry if table == _PLAIN_TABLE else {**entry, "table": _given(table)}


def _environment(environment: Mapping[str, Any]) -> dict[str, Any]:
    python: dict[str, Any] = {"condaDependencies": conda_of(environment)}
    path = environment.get("python")
    if path is not None and is_interpreter(path):
        python = {"interpreterPath": path, "userManagedDependencies": True, **python}
    return {"python": python}
