"""What ``prs try`` runs: a job file, or an entry script with the defaults of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prsweb.cli.failure import CommandFailed, Problem
from prsweb.cli.job_file import JobFile, complete_job, invalid_job, read_job_file
from prsweb.cli.submission import prepare_example
from runner.core.problems import InvalidSpec
from runner.core.specs import dump_spec, parse_spec

JOB_FILES = (".yml", ".yaml", ".json")
KIND = "parallel_run_step"
INPUT_MISSING = (
    "--input is missing: give the file, folder or glob that the script is to be tried with"
)


@dataclass(frozen=True)
class TrialJob:
    spec: dict[str, Any]  # complete; no output lies outside the trial's folder
    source: Path  # folder of the code
    warnings: tuple[str, ...]

    @property
    def is_summary_only(self) -> bool:
        return bool(self.spec["output_action"] == "summary_only")


def read_trial_job(
    script: Path, input_path: str | None, settings: Mapping[str, str]
) -> TrialJob:
    """Return the checked job. ``input_path`` is relative to the current folder, every other
    path to that of ``script``. Raises CommandFailed."""
    if input_path == "":
        raise CommandFailed(INPUT_MISSING)
    if not script.is_file():
        found = "is no file" if script.exists() else "no such file"
        raise CommandFailed(f"{script}: {found}; give an entry script or a job file")
    prepare_example(script)
    if script.suffix.lower() in JOB_FILES:
        job = read_job_file(script, {**_input_settings(input_path), **settings})
    else:
        job = complete_job(script, _script_spec(script, input_path, settings), settings)
    return _check(job)


def _script_spec(
    script: Path, input_path: str | None, settings: Mapping[str, str]
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "kind": KIND,
        "name": "try",
        "entry_script": _script_in_source(script, settings.get("source_directory")),
        "output_action": "append_row",
    }
    if input_path is not None:
        spec["inputs"] = [{"name": "input", "type": "files", "path": _absolute(input_path)}]
    elif not any(key.startswith(("inputs", "rank_mini_batch_count")) for key in settings):
        raise CommandFailed(INPUT_MISSING)
    return spec


def _script_in_source(script: Path, source: str | None) -> str:
    """Return the script as the job names it: below ``source``, where that holds it."""
    absolute = os.path.normpath(script.absolute())
    if source:
        folder = os.path.normpath(Path(os.path.realpath(script)).parent / source)
        if absolute.startswith(folder.rstrip(os.sep) + os.sep):
            return os.path.relpath(absolute, folder)
    return absolute


def _input_settings(input_path: str | None) -> dict[str, str]:
    if input_path is None:
        return {}
    return {"inputs.0.rows": "", "inputs.0.path": _absolute(input_path)}


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _check(job: JobFile) -> TrialJob:
    kind = job.spec.get("kind", KIND)
    if kind != KIND:
        raise CommandFailed(
            f"{job.path} is a job of kind {kind}; try runs the entry script of a {KIND} job"
        )
    try:
        parsed = parse_spec(job.spec, paths_must_be_absolute=True)
    except InvalidSpec as invalid:
        problems = [Problem(one.path, one.rule, one.found or "") for one in invalid.problems]
        raise invalid_job(problems) from invalid
    spec = dump_spec(parsed.spec)
    missing = list(_missing_paths(spec))
    if missing:
        raise invalid_job(missing)
    if job.source is None:
        raise CommandFailed(f"{job.path} names no folder of code: give source_directory")
    return TrialJob(_without_outputs(spec), job.source, parsed.warnings)


def _missing_paths(spec: Mapping[str, Any]) -> list[Problem]:
    return [
        Problem(f"{key}.{name}.path", "no such file or folder", one["path"])
        for key in ("side_inputs", "models")
        for name, one in spec[key].items()
        if not Path(one["path"]).exists()
    ]


def _without_outputs(spec: dict[str, Any]) -> dict[str, Any]:
    """A trial overwrites nothing: what the script writes goes below its own folder."""
    outputs = {name: {**(one or {}), "path": None} for name, one in spec["outputs"].items()}
    return {**spec, "output": {**spec["output"], "path": None}, "outputs": outputs}
