"""The file that tells a worker process what it is.

Source: its members, ``runner/harness/config.py``, which reads it in the user's
interpreter and cannot be imported here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.core.layout import JobFolder, process_name
from runner.core.messages import Assignment
from runner.node.references import fill_arguments, find_reference_paths
from runner.node.step_spec import StepSpec

HARNESS = Path(__file__).resolve().parent.parent / "harness" / "__main__.py"


@dataclass(frozen=True)
class ProcessIdentity:
    """What tells one worker process from the others of its node."""

    number: int
    random: str  # keeps its files apart from those of any other start
    gpu: int | None


@dataclass(frozen=True)
class StepPlace:
    """What the worker processes of one node share."""

    assignment: Assignment
    spec: StepSpec
    folder: JobFolder
    work_dir: Path
    output_folder: Path
    address: str

    def segment(self, identity: ProcessIdentity) -> Path:
        return self.folder.segment(self.assignment.node_name, identity.number, identity.random)

    def status_file(self, identity: ProcessIdentity) -> Path:
        name = self.assignment.node_name
        return self.folder.status_file(name, identity.number, identity.random)

    def user_error(self, number: int) -> Path:
        """Tracebacks of one process, and its stacks when they are asked for."""
        node, name = self.assignment.node_name, process_name(number)
        return self.folder.user_logs / "error" / node / f"{name}.txt"

    def config_file(self, identity: ProcessIdentity) -> Path:
        return self.segment(identity).with_name(self.segment(identity).name + ".config")


def write_harness_config(place: StepPlace, identity: ProcessIdentity) -> Path:
    """Write the file of one worker process and return its path."""
    path = place.config_file(identity)
    path.write_text(json.dumps(build_harness_config(place, identity)), encoding="utf-8")
    return path


def build_harness_config(place: StepPlace, identity: ProcessIdentity) -> dict[str, Any]:
    assignment, spec, folder = place.assignment, place.spec, place.folder
    node, name = assignment.node_name, process_name(identity.number)
    return {
        "job_id": assignment.job_id,
        "folder": str(folder.root),
        "node_name": node,
        "node_index": assignment.node_index,
        "node_address": place.address,
        "process": identity.number,
        "assignment": assignment.number,
        "gpu": identity.gpu,
        "work_dir": str(place.work_dir),
        "entry_script": spec.entry_script,
        "output_folder": str(place.output_folder),
        "system_log": str(folder.system_log(node, identity.number)),
        "user_stdout": str(folder.user_logs / "stdout" / node / f"{name}.stdout.txt"),
        "user_stderr": str(folder.user_logs / "stderr" / node / f"{name}.stderr.txt"),
        "user_error": str(place.user_error(identity.number)),
        "entry_script_log": str(
            folder.user_logs / "entry_script_log" / node / f"{name}.log.txt"
        ),
        "log_dir": str(folder.user_logs / "entry_script_log" / node),
        "segment": str(place.segment(identity)),
        "status_file": str(place.status_file(identity)),
        "manifest_items": str(folder.manifest_items),
        "manifest_index": str(folder.manifest_index),
        "inputs": [_describe_input(one) for one in spec.inputs],
        "arguments": fill_arguments(
            spec.arguments, find_reference_paths(spec, place.output_folder)
        ),
        "settings_arguments": spec.settings_arguments,
        "script_sees_settings": spec.script_sees_settings,
        "logging_level": spec.logging_level,
        "output_action": spec.output_action,
        "output": _describe_output(spec.output),
        "rank_mode": spec.is_rank_mode,
        "run_max_try": spec.max_try,
        "models": dict(spec.models),
        "profiling_module": spec.profiling_module,
        "profile_file": str(folder.logs / "sys" / "node" / node / f"{name}.profile"),
    }


def _describe_input(given: Mapping[str, Any]) -> dict[str, Any]:
    path = given.get("path")
    return {
        "name": given.get("name") or "",
        "kind": given.get("type") or "files",
        "path": path if isinstance(path, str) else None,
        "table": given.get("table") or {},
    }


def _describe_output(given: Mapping[str, Any]) -> dict[str, Any]:
    known = ("format", "sep", "header", "index", "to_csv")
    return {name: given[name] for name in known if given.get(name) is not None}
