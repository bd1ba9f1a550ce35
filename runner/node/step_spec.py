"""What a node needs of a ParallelRunStep job's ``spec.json``.

The file was checked at submission and is complete; it is read here as plain
JSON, for the model it was checked with is too heavy for an idle node.
Source: ``docs/job-file.md``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.node.environments import Wanted

# Settings that a script sees in sys.argv, in this order, spelled as on Azure.
SEEN_SETTINGS: tuple[tuple[str, str], ...] = (
    ("--mini_batch_size", "mini_batch_size"),
    ("--error_threshold", "error_threshold"),
    ("--allowed_failed_count", "mini_batch_error_threshold"),
    ("--allowed_failed_percent", "allowed_failed_percent"),
    ("--output_action", "output_action"),
    ("--append_row_file_name", "append_row_file_name"),
    ("--logging_level", "logging_level"),
    ("--process_count_per_node", "process_count_per_node"),
    ("--run_invocation_timeout", "run_invocation_timeout"),
    ("--run_max_try", "run_max_try"),
    ("--task_overhead_timeout", "task_overhead_timeout"),
    ("--progress_update_timeout", "progress_update_timeout"),
    ("--first_task_creation_timeout", "first_task_creation_timeout"),
    ("--resource_monitor_interval", "resource_monitor_interval"),
    ("--profiling_module", "profiling_module"),
    ("--rank_mini_batch_count", "rank_mini_batch_count"),
)


class SpecUnreadable(Exception):
    """The job's spec.json is missing or is no such file; nothing can be run."""


@dataclass(frozen=True)
class StepSpec:
    members: Mapping[str, Any]  # as they stand in the file

    def _value(self, name: str, default: Any) -> Any:
        value = self.members.get(name)
        return default if value is None else value

    @property
    def run_seconds(self) -> float:
        return float(self._value("run_invocation_timeout", 60))

    @property
    def overhead_seconds(self) -> float:
        return float(self._value("task_overhead_timeout", 30))

    @property
    def max_try(self) -> int:
        return int(self._value("run_max_try", 3))

    @property
    def logging_level(self) -> str:
        return str(self._value("logging_level", "INFO"))

    @property
    def output_action(self) -> str:
        return str(self._value("output_action", "append_row"))

    @property
    def entry_script(self) -> str:
        return str(self._value("entry_script", ""))

    @property
    def sample_seconds(self) -> float:
        return float(self._value("sample_interval", 5))

    @property
    def monitor_seconds(self) -> float:
        """Between two entries of the perf files; 0: none are written."""
        return float(self._value("resource_monitor_interval", 600))

    @property
    def environment_variables(self) -> Mapping[str, str]:
        return dict(self._value("environment_variables", {}))

    def environment(self, folder: Path) -> Wanted:
        """Return the Python environment asked for; ``folder`` is where a relative
        requirements file lies."""
        given = self._value("environment", {})
        python, seconds = given.get("python"), given.get("build_timeout")
        return Wanted(
            python=str(python) if python else None,
            requirements=_requirements(given, folder),
            build_seconds=1800.0 if seconds is None else float(seconds),
        )

    @property
    def arguments(self) -> list[str]:
        given = self._value("arguments", [])
        return shlex.split(given) if isinstance(given, str) else [str(one) for one in given]

    @property
    def settings_arguments(self) -> list[str]:
        """Settings as sys.argv shows them; one without a value is left out."""
        given = [(option, self.members.get(name)) for option, name in SEEN_SETTINGS]
        pairs = [(option, str(value)) for option, value in given if value not in (None, "")]
        keys = self._value("partition_keys", [])
        if keys:
            pairs.append(("--partition_keys", json.dumps(keys)))
        return [word for pair in pairs for word in pair]

    @property
    def output(self) -> Mapping[str, Any]:
        return dict(self._value("output", {}))

    @property
    def outputs(self) -> Mapping[str, str | None]:
        """Name -> path of a named output; None: below the output folder."""
        given = self._value("outputs", {})
        return {name: (value or {}).get("path") for name, value in given.items()}

    @property
    def inputs(self) -> list[Mapping[str, Any]]:
        return list(self._value("inputs", []))

    @property
    def models(self) -> Mapping[str, str]:
        """Name -> path."""
        return self._staged_paths("models")

    @property
    def side_inputs(self) -> Mapping[str, str]:
        """Name -> path."""
        return self._staged_paths("side_inputs")

    def _staged_paths(self, key: str) -> dict[str, str]:
        return {
            name: str(value.get("path") if isinstance(value, Mapping) else value)
            for name, value in self._value(key, {}).items()
        }

    @property
    def is_rank_mode(self) -> bool:
        return int(self._value("rank_mini_batch_count", 0)) > 0

    @property
    def profiling_module(self) -> str:
        return str(self._value("profiling_module", ""))

    @property
    def script_sees_settings(self) -> bool:
        return bool(self._value("script_sees_settings", True))


def _requirements(given: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    lines = [str(one) for one in given.get("requirements") or ()]
    if given.get("requirements_file"):
        path = folder / str(given["requirements_file"])
        try:
            lines += path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise SpecUnreadable(f"environment.requirements_file: {error}") from None
    return tuple(line.strip() for line in lines if line.strip())


def read_members(path: Path) -> Mapping[str, Any]:
    """Return the object in ``path``, or raise SpecUnreadable."""
    try:
        members = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SpecUnreadable(f"{path}: {error}") from None
    if not isinstance(members, dict):
        raise SpecUnreadable(f"{path}: not an object")
    return members


def read_step_spec(path: Path) -> StepSpec:
    return StepSpec(read_members(path))
