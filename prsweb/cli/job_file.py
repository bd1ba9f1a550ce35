"""Read a job file and make it independent of where it lies."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prsweb.cli.failure import CommandFailed, Problem
from runner.core.problems import InvalidSpec
from runner.core.problems import Problem as SpecProblem
from runner.core.specs import (
    ImportedDocument,
    UnreadableFile,
    apply_settings,
    import_document,
    load_job_file,
    parse_spec,
)

MOST_BYTES = 4 * 1024 * 1024
# Not a path of this machine: a URL, dataset:NAME, datastore:NAME/…, ${{…}}.
NO_PATH = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*:|\$\{\{)")


class BadJobFile(CommandFailed):
    """The file cannot be read, or holds no job."""


@dataclass(frozen=True)
class JobFile:
    path: Path
    # Every path of this machine is absolute; of a file of Azure an ImportedDocument.
    spec: dict[str, Any]
    source: Path | None  # folder to pack; None: the job brings no code


def read_job_file(path: Path, settings: Mapping[str, str] | None = None) -> JobFile:
    """Return the job of a YAML or JSON file, ours or one of Azure, with ``settings``
    put in.

    Paths are relative to the file, also those of ``settings``. Raises BadJobFile,
    and CommandFailed with each setting that does not fit, or all that is wrong with
    a file of Azure.
    """
    raw = _parse(path, _read(path))
    return complete_job(path, _imported(raw, _folder_of(path)), settings or {})


def complete_job(path: Path, spec: dict[str, Any], settings: Mapping[str, str]) -> JobFile:
    """Return the job ``spec`` as a file at ``path`` would hold it, with ``settings`` put in.

    Raises BadJobFile, and CommandFailed with each setting that does not fit.
    """
    spec = _with_settings(spec, settings)
    resolved = _resolve_paths(spec, _folder_of(path))
    if isinstance(spec, ImportedDocument):
        _check_imported(spec)
        resolved = spec.copy_of(resolved)
    return JobFile(path, resolved, _source_folder(resolved))


def _folder_of(path: Path) -> Path:
    return Path(os.path.realpath(path)).parent


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadJobFile(f"{path} has more than {MOST_BYTES} bytes: it is no job file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadJobFile(f"{path}: {error.strerror}; give the path of a job file") from error
    except UnicodeDecodeError as error:
        raise BadJobFile(f"{path} is not text: give a YAML or JSON job file") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return load_job_file(text)
    except InvalidSpec as invalid:
        problem = str(invalid.problems[0]).replace("\n", " ")
        raise BadJobFile(f"{path} {problem}") from invalid


def _imported(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return our document of a file of Azure, with what the files it names hold."""

    def read(path: str) -> str:
        try:
            return _read(folder / Path(path).expanduser())
        except BadJobFile as bad:
            raise UnreadableFile(f"cannot be read: {bad.message}") from bad

    try:
        document = import_document(raw, read)
    except InvalidSpec as invalid:
        raise spec_problems(invalid) from invalid
    return document if isinstance(document, dict) else dict(document)


def _check_imported(document: ImportedDocument) -> None:
    """Tell all problems here: only here the words of the file are known."""
    if document.problems:
        try:
            parse_spec(document)
        except InvalidSpec as invalid:
            raise spec_problems(invalid) from invalid


def _with_settings(spec: dict[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    if not settings:
        return spec
    try:
        return apply_settings(spec, settings)
    except InvalidSpec as invalid:
        raise spec_problems(invalid) from invalid


def _told(problem: SpecProblem) -> Problem:
    return Problem(problem.path, problem.rule, problem.found or "")


def spec_problems(invalid: InvalidSpec) -> CommandFailed:
    return invalid_job([_told(one) for one in invalid.problems])


def invalid_job(problems: Sequence[Problem]) -> CommandFailed:
    """Return the refusal in the API's words."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return CommandFailed(f"The job has {count}.", problems=tuple(problems))


def _resolve_paths(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the spec with every relative path made absolute from ``folder``."""

    def resolve(value: Any) -> Any:
        if isinstance(value, list):
            return [resolve(one) for one in value]
        if not isinstance(value, str) or not value or NO_PATH.match(value):
            return value
        return os.path.normpath(folder / Path(value).expanduser())

    def resolve_path_of(value: Any) -> Any:
        """A path, or a map with the key path."""
        if isinstance(value, dict):
            return {**value, "path": resolve(value["path"])} if "path" in value else value
        return resolve(value)

    spec = dict(spec)
    if isinstance(spec.get("inputs"), list):
        spec["inputs"] = [
            resolve_path_of(one) if isinstance(one, dict) else one for one in spec["inputs"]
        ]
    for key in ("side_inputs", "models"):
        if isinstance(spec.get(key), dict):
            spec[key] = {name: resolve_path_of(one) for name, one in spec[key].items()}
    for key in ("source_directory", "working_directory"):
        if key in spec:
            spec[key] = resolve(spec[key])
    if isinstance(spec.get("environment"), dict):
        spec["environment"] = _environment(spec["environment"], resolve)
    entry = spec.get("entry_script")
    if isinstance(entry, str) and entry and not spec.get("source_directory"):
        script = Path(resolve(entry))
        spec["source_directory"], spec["entry_script"] = str(script.parent), script.name
    return spec


def _environment(environment: dict[str, Any], resolve: Any) -> dict[str, Any]:
    """Return it with the lines of its requirements file in it: the server may be
    another machine."""
    environment = dict(environment)
    python = environment.get("python")
    if isinstance(python, str) and python.startswith(("./", "../", "~")):
        environment["python"] = resolve(python)
    file = environment.get("requirements_file")
    if not isinstance(file, str) or "requirements" in environment:
        return environment
    del environment["requirements_file"]
    lines = _read(Path(resolve(file))).splitlines()
    environment["requirements"] = [
        line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")
    ]
    return environment


def _source_folder(spec: dict[str, Any]) -> Path | None:
    for key in ("source_directory", "working_directory"):
        folder = spec.get(key)
        if not isinstance(folder, str) or not folder or NO_PATH.match(folder):
            continue
        if not Path(folder).is_dir():
            spelled = spec.spelled if isinstance(spec, ImportedDocument) else {}
            path = spelled.get((key,), key)
            raise invalid_job([Problem(path, "must be an existing folder", folder)])
        return Path(folder)
    return None
