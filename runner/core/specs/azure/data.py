"""Inputs and outputs of a v2 job: data, models, values, folders.

Source: https://learn.microsoft.com/azure/machine-learning/reference-yaml-job-parallel
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.placeholders import whole_placeholder
from runner.core.problems import nearest_name, unknown_name_rule
from runner.core.specs.azure.component import DATA_TYPES, LITERAL_TYPES, MODEL_TYPES
from runner.core.specs.azure.mltable import input_type
from runner.core.specs.azure.names import is_cloud, last_part, our_path
from runner.core.specs.azure.numbers import value_of_type
from runner.core.specs.azure.reading import Reading
from runner.core.specs.paths import Location

INPUT_KEYS = (
    "type",
    "path",
    "mode",
    "description",
    "default",
    "optional",
    "min",
    "max",
    "enum",
)
OUTPUT_KEYS = ("type", "path", "mode", "description", "name", "version")
COPYING_MODES = ("ro_mount", "rw_mount", "download", "upload", "eval_mount", "eval_download")
TYPES = (*DATA_TYPES, *MODEL_TYPES, *LITERAL_TYPES)

# Name of an input, and the group of our references that it belongs to; None: an
# optional one that has no value.
Groups = dict[str, str | None]


def put_inputs(reading: Reading, inputs: Any, main: str | None) -> Groups:
    """Put in each entry as input, side input, model or parameter; return which is what."""
    groups: Groups = {}
    if not isinstance(inputs, Mapping):
        if inputs is not None:
            reading.refuse(("inputs",), "must be a map of names to inputs", inputs)
        return groups
    reading.document["inputs"] = []
    for name, entry in inputs.items():
        groups[name] = _put_entry(reading, name, entry, is_main=name == main)
    return groups


def _put_entry(reading: Reading, name: str, entry: Any, *, is_main: bool) -> str | None:
    at: Location = ("inputs", name)
    if not isinstance(entry, Mapping):
        if isinstance(entry, list) or entry is None:
            reading.refuse(at, "must be a value, or a map with type and path", entry)
            return "parameters"
        reading.put(("parameters", name), entry, at)
        return "parameters"
    members = reading.members(entry, at, INPUT_KEYS)
    kind = members.get("type", "uri_folder" if "path" in members else "string")
    if kind not in TYPES:
        near = nearest_name(kind, TYPES) if isinstance(kind, str) else None
        hint = f", did you mean {near}?" if near else f"; the types are {', '.join(TYPES)}"
        reading.refuse((*at, "type"), f"is no type of an input{hint}", kind)
        return "parameters"
    source = "default" if kind in LITERAL_TYPES else "path"
    if source not in members:
        if members.get("optional") is True:
            return None
        rule = (
            "is required" if source == "path" else "has no value: write it in place of the map"
        )
        reading.refuse((*at, source) if source == "path" else at, rule)
        return _group_of(kind, is_main)
    if kind in LITERAL_TYPES:
        value = value_of_type(members["default"], kind)
        reading.put(("parameters", name), value, at)
        return "parameters"
    _put_data(reading, name, members, kind, is_main=is_main)
    return _group_of(kind, is_main)


def _group_of(kind: str, is_main: bool) -> str:
    if kind in LITERAL_TYPES:
        return "parameters"
    if is_main:
        return "inputs"
    return "models" if kind in MODEL_TYPES else "side_inputs"


def _put_data(
    reading: Reading, name: str, members: Mapping[str, Any], kind: str, *, is_main: bool
) -> None:
    at: Location = ("inputs", name)
    path = members["path"]
    try:
        path = our_path(path) if isinstance(path, str) else path
    except ValueError as error:
        reading.refuse((*at, "path"), str(error), path)
    mode = members.get("mode")
    if mode is not None and mode not in (*COPYING_MODES, "direct"):
        known = ", ".join((*COPYING_MODES, "direct"))
        reading.refuse((*at, "mode"), f"must be one of {known}", mode)
    if mode in COPYING_MODES:
        reading.warn((*at, "mode"), f"{mode} is read as local: files are at hand on the node.")
    if not is_main:
        group = "models" if kind in MODEL_TYPES else "side_inputs"
        reading.put((group, name), {"path": path}, at)
        return
    is_mltable = kind == "mltable" and isinstance(path, str)
    type_ = input_type(reading, path, (*at, "path")) if is_mltable else "files"
    entry = {"name": name, "type": type_, "path": path}
    if mode == "direct" and type_ == "files":
        entry["mode"] = "direct"
    reading.document["inputs"].append(entry)
    reading.spell(("inputs", 0), at)
    reading.spell(("inputs", 0, "name"), at)


def main_input(reading: Reading, job: Mapping[str, Any], *, is_needed: bool) -> str | None:
    """Return the name that ``input_data: ${{inputs.NAME}}`` gives."""
    at: Location = ("input_data",)
    given = job.get("input_data")
    if given is None:
        if is_needed:
            rule = "is required: the input that is worked on, as ${{inputs.NAME}}"
            reading.refuse(at, rule, target=("inputs",))
        return None
    found = whole_placeholder(given) if isinstance(given, str) else None
    inputs = job.get("inputs")
    if found is None or found.group != "inputs":
        rule = "must name an input, as ${{inputs.NAME}}"
        reading.refuse(at, rule, given, target=("inputs",))
        return None
    names = list(inputs) if isinstance(inputs, Mapping) else []
    if found.name not in names:
        rule = unknown_name_rule(found.name, names) if names else "there are no inputs"
        rule = rule.replace("not a known key", "not an input").replace("keys here", "inputs")
        reading.refuse(at, rule, given, target=("inputs",))
        return None
    entry = inputs[found.name] if isinstance(inputs, Mapping) else None
    kind = entry.get("type", "uri_folder") if isinstance(entry, Mapping) else None
    if kind not in DATA_TYPES and not (isinstance(entry, Mapping) and kind not in TYPES):
        rule = f"must name an input of type {', '.join(DATA_TYPES)}, with a path"
        reading.refuse(at, rule, given, target=("inputs",))
        return None
    return found.name


def put_outputs(reading: Reading, outputs: Any, collected: Any) -> None:
    """Put in the named folders, and the output file that ``task.append_row_to`` names."""
    at: Location = ("task", "append_row_to")
    reading.spell(("output_action",), at)
    reading.spell(("append_row_file_name",), at)
    name = _collected_name(reading, collected, at)
    reading.document["output_action"] = (
        "append_row" if collected is not None else "summary_only"
    )
    if outputs is not None and not isinstance(outputs, Mapping):
        reading.refuse(("outputs",), "must be a map of names to outputs", outputs)
        return
    known = list(outputs or {})
    if name is not None and name not in known:
        near = nearest_name(name, known)
        hint = (
            f", did you mean {near}?" if near else f"; there are {', '.join(known) or 'none'}"
        )
        reading.refuse(at, f"there is no output {name}{hint}", collected)
    for one, entry in (outputs or {}).items():
        members = reading.members(entry, ("outputs", one), OUTPUT_KEYS)
        kind = members.get("type", "uri_folder")
        if kind not in (*DATA_TYPES, *MODEL_TYPES):
            types = ", ".join((*DATA_TYPES, *MODEL_TYPES))
            reading.refuse(("outputs", one, "type"), f"must be one of {types}", kind)
        if one == name:
            _put_file(reading, one, members)
        else:
            _put_folder(reading, one, members)


def _collected_name(reading: Reading, collected: Any, at: Location) -> str | None:
    if collected is None:
        return None
    found = whole_placeholder(collected) if isinstance(collected, str) else None
    if found is None or found.group != "outputs":
        reading.refuse(at, "must name an output, as ${{outputs.NAME}}", collected)
        return None
    return found.name


def _put_file(reading: Reading, name: str, members: Mapping[str, Any]) -> None:
    path, at = members.get("path"), ("outputs", name, "path")
    if not isinstance(path, str):
        return
    file_name = last_part(path)
    if file_name:
        reading.put(("append_row_file_name",), file_name, at)
    if is_cloud(path):
        called = (
            f"the file is called {file_name}" if file_name else "the file has its usual name"
        )
        reading.warn(at, f"is replaced by the job's own output folder; {called}.")
        return
    folder = path[: len(path) - len(file_name)]
    folder = folder.rstrip("/") or folder
    if folder:
        reading.put(("output", "path"), folder, at)


def _put_folder(reading: Reading, name: str, members: Mapping[str, Any]) -> None:
    path, at = members.get("path"), ("outputs", name, "path")
    reading.put(("outputs", name), {}, ("outputs", name))
    if isinstance(path, str) and is_cloud(path):
        reading.warn(at, f"is replaced by the folder {name} in the job's own output folder.")
    elif path is not None:
        reading.put(("outputs", name, "path"), path, at)
