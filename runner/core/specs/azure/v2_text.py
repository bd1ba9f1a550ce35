"""A step as a v2 job of type parallel."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from runner.core.specs.azure.environment_text import conda_of
from runner.core.specs.azure.names import azure_path
from runner.core.specs.azure.step_options import option_words
from runner.core.specs.azure.v2 import KEYS, SAME, TASK_KEYS
from runner.core.specs.changes import resubmission_base
from runner.core.specs.step_arguments import OUTPUT

SCHEMA = "https://azuremlschemas.azureedge.net/latest/parallelJob.schema.json"
_FILE_OUTPUT = "job_output_file"
_STORE = "azureml://datastores/workspaceblobstore/paths"
_DATA_GROUPS = re.compile(r"\$\{\{\s*(?:parameters|side_inputs|models)\.")
_PLAIN_WORD = re.compile(r"[\w@%+=:,./${}-]+", re.ASCII)


def v2_document(dumped: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a v2 file of what ``dump_spec`` gave."""
    spec = resubmission_base(dumped)
    job: dict[str, Any] = {"$schema": SCHEMA, "type": "parallel", "name": spec["name"]}
    if spec["tags"]:
        job["tags"] = spec["tags"]
    job["compute"] = f"azureml:{spec['queue']}"
    job |= {"inputs": _inputs(spec), "outputs": _outputs(spec)}
    if spec["inputs"] and spec["inputs"][0]["path"] is not None:
        job["input_data"] = f"${{{{inputs.{spec['inputs'][0]['name']}}}}}"
    if (size := spec.get("mini_batch_size")) is not None:
        job["mini_batch_size"] = str(size)
    job |= {"resources": {}, "retry_settings": {}}
    job["environment_variables"] = spec["environment_variables"]
    job["task"] = _task(spec)
    for name, (at, _) in SAME.items():
        value = spec.get(name)
        if value is not None:
            holder = job if len(at) == 1 else job[str(at[0])]
            holder[str(at[-1])] = value
    # A reference there would count tries where the file counts retries.
    job["retry_settings"]["max_retries"] = dumped["run_max_try"] - 1
    job["task"] = {name: job["task"][name] for name in TASK_KEYS if name in job["task"]}
    return {name: _with_their_references(job[name]) for name in KEYS if name in job}


def _inputs(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return input, side inputs, models and parameters, the first of a name."""
    entries: dict[str, Any] = {}
    for one in spec["inputs"][:1]:
        path = one["path"][0] if isinstance(one["path"], list) else one["path"]
        if path is not None:
            kind = "mltable" if one["type"] == "table" else _uri_type(path)
            entries[one["name"]] = {"type": kind, "path": azure_path(path)}
            if one["mode"] == "direct":
                entries[one["name"]]["mode"] = "direct"
    for group in ("side_inputs", "models"):
        for name, one in spec[group].items():
            kind = "custom_model" if group == "models" else _uri_type(one["path"])
            entries.setdefault(name, {"type": kind, "path": azure_path(one["path"])})
    for name, value in spec["parameters"].items():
        if not isinstance(value, list):
            entries.setdefault(name, value)
    return entries


def _uri_type(path: str) -> str:
    is_file = path.rsplit("/", 1)[-1].count(".") == 1 and not path.endswith("/")
    return "uri_file" if is_file and "*" not in path else "uri_folder"


def _outputs(spec: Mapping[str, Any]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for name, one in spec["outputs"].items():
        given = {} if one["path"] is None else {"path": one["path"]}
        entries[name] = {"type": "uri_folder", **given}
    if spec["output_action"] == "append_row":
        folder = spec["output"]["path"]
        where = f"{_STORE}/{spec['name']}" if folder is None else folder.rstrip("/")
        path = f"{where}/{spec['append_row_file_name']}"
        entries[_file_output(spec)] = {"type": "uri_file", "path": path}
    return entries


def _file_output(spec: Mapping[str, Any]) -> str:
    """Return a name for the collected file that no folder has."""
    name = _FILE_OUTPUT
    while name in spec["outputs"]:
        name += "_"
    return name


def _task(spec: Mapping[str, Any]) -> dict[str, Any]:
    task: dict[str, Any] = {"type": "run_function"}
    if spec["source_directory"] is not None:
        task["code"] = spec["source_directory"]
    words = [*spec["arguments"], *option_words(spec, "allowed_failed_percent")]
    if spec["output"]["header"] is not None:
        words.append(f"--{OUTPUT[0]}={spec['output']['header']}")
    if any(one["table"]["types"] == "mixed" for one in spec["inputs"][:1]):
        words.append(f"--{OUTPUT[2]}=True")
    if words:
        task["program_arguments"] = " ".join(map(_quoted, words))
    if spec["output_action"] == "append_row":
        task["append_row_to"] = f"${{{{outputs.{_file_output(spec)}}}}}"
    if spec["environment"] is not None:
        task["environment"] = {"conda_file": conda_of(spec["environment"])}
    return task


def _quoted(word: str) -> str:
    """Quote for a shell where it is needed; references stay readable."""
    return word if _PLAIN_WORD.fullmatch(word) else shlex.quote(word)


def _with_their_references(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_their_references(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_their_references(one) for one in value]
    return _DATA_GROUPS.sub("${{inputs.", value) if isinstance(value, str) else value
