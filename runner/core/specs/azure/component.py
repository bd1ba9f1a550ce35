"""A parallel job that takes its settings from a component: the job's own keys win."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.specs.azure.reading import Reading, below, folder_of
from runner.core.specs.paths import Location

MERGED = ("retry_settings", "resources", "environment_variables", "tags", "task")
DATA_TYPES = ("uri_file", "uri_folder", "mltable")
MODEL_TYPES = ("custom_model", "mlflow_model", "triton_model")
LITERAL_TYPES = ("string", "integer", "number", "boolean")
AT: Location = ("component",)


def merge_component(reading: Reading, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job's document with what its component adds to it."""
    own = {name: value for name, value in job.items() if name != "component"}
    given = job.get("component")
    if given is None:
        return own
    component = _component(reading, given)
    if component is None:
        return own
    merged = {name: value for name, value in component.items() if name != "type"}
    for name, value in own.items():
        if value is None and merged.get(name) is not None:
            continue
        merged[name] = _over(merged.get(name), value) if name in MERGED else value
    for name in ("inputs", "outputs"):
        merged[name] = _interface(component.get(name), own.get(name))
    merged["type"] = "parallel"
    return merged


def _component(reading: Reading, given: Any) -> dict[str, Any] | None:
    folder = ""
    read: Any = given
    if isinstance(given, str):
        if given.startswith("azureml:"):
            rule = "is not registered here: give the path of the component's file"
            reading.refuse(AT, rule, given)
            return None
        path = below("", given)
        read, folder = reading.map_of(path, AT), folder_of(path)
        if read is None:
            return None
    if not isinstance(read, Mapping):
        reading.refuse(AT, "must be the path of a component's file, or a map", given)
        return None
    if read.get("type", "parallel") != "parallel":
        reading.refuse((*AT, "type"), "must be parallel", read["type"])
        return None
    if "component" in read:
        reading.refuse((*AT, "component"), "a component is made of no other one")
    return _moved({name: one for name, one in read.items() if name != "component"}, folder)


def _moved(component: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return it with the paths that are relative to its file relative to the job's."""
    task = component.get("task")
    if not isinstance(task, Mapping):
        return component
    moved = dict(task)
    if isinstance(code := task.get("code"), str):
        moved["code"] = below(folder, code)
    environment = task.get("environment")
    if isinstance(environment, str):
        moved["environment"] = below(folder, environment)
    elif isinstance(environment, Mapping) and isinstance(environment.get("conda_file"), str):
        conda = below(folder, environment["conda_file"])
        moved["environment"] = {**environment, "conda_file": conda}
    return {**component, "task": moved}


def _over(inner: Any, outer: Any) -> Any:
    if not isinstance(inner, Mapping) or not isinstance(outer, Mapping):
        return outer
    given = {name: value for name, value in outer.items() if value is not None}
    return {**inner, **given}


def _interface(declared: Any, given: Any) -> Any:
    """Return inputs or outputs: as declared, with the values of the job."""
    if not isinstance(declared, Mapping) or not isinstance(given, Mapping | None):
        return given if given is not None else declared
    values = given or {}
    merged = {
        name: _value(one, values[name]) if values.get(name) is not None else one
        for name, one in declared.items()
    }
    return {**merged, **{name: one for name, one in values.items() if name not in declared}}


def _value(declared: Any, given: Any) -> Any:
    if not isinstance(declared, Mapping):
        return given
    if isinstance(given, Mapping):
        return {**declared, **given}
    is_data = declared.get("type") in (*DATA_TYPES, *MODEL_TYPES)
    return {**declared, "path" if is_data else "default": given}
