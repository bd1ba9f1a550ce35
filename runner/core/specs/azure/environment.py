"""The environment of a file of Azure: interpreter, requirements, variables.

Source: https://learn.microsoft.com/azure/machine-learning/reference-yaml-environment and
https://learn.microsoft.com/python/api/azureml-core/azureml.core.environment.environment
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.specs.azure.conda import environment_of_conda
from runner.core.specs.azure.reading import (
    Reading,
    UnreadableFile,
    below,
    folder_of,
    without_scheme,
)
from runner.core.specs.paths import Location

V2_KEYS = ("name", "version", "description", "tags", "properties", "$schema", "conda_file")
V1_KEYS = ("python", "environmentVariables", "environment_variables", "assetId")
IGNORED = {
    "image": "there are no Docker images; name what the script needs as packages",
    "build": "there are no Docker images; name what the script needs as packages",
    "docker": "there are no Docker images; name what the script needs as packages",
    "os_type": "the nodes' own system runs the script",
    "inference_config": "it belongs to endpoints",
    "inferencingStackVersion": "it belongs to endpoints",
    "spark": "Spark is not used",
    "databricks": "Databricks is not used",
    "r": "R is not used",
}
KEYS = (*V2_KEYS, *V1_KEYS, *IGNORED)
PYTHON_KEYS = (
    "userManagedDependencies",
    "interpreterPath",
    "condaDependencies",
    "condaDependenciesFile",
    "baseCondaEnvironment",
)
FOLDER_FILES = ("conda_dependencies.yml", "conda.yml", "conda.yaml", "environment.yml")
DEFINITION_FILE = "azureml_environment.json"
_RULE = "must be a map, or the path of a YAML file"


def put_environment(reading: Reading, value: Any, at: Location, folder: str = "") -> None:
    """Put in what an inline map, or the file of that path, says."""
    reading.spell(("environment",), at)
    if isinstance(value, str):
        path = below(folder, value)
        if value.startswith("azureml:"):
            refuse_registered_environment(reading, value, at)
        elif (read := reading.map_of(path, at)) is not None:
            _put_read(reading, read, at, folder_of(path))
    else:
        _put_map(reading, value, at, folder)


def put_environment_folder(reading: Reading, value: Any, at: Location) -> None:
    """Put in what a folder with a conda file says, as ``save_to_directory`` writes it."""
    reading.spell(("environment",), at)
    if not isinstance(value, str) or not value:
        reading.refuse(at, "must be the path of a folder", value)
        return
    folder = without_scheme(value).rstrip("/")
    for name in (DEFINITION_FILE, *FOLDER_FILES):
        path = f"{folder}/{name}"
        try:
            reading.text_of(path)
        except UnreadableFile:
            continue
        if (read := reading.map_of(path, at)) is not None:
            _put_read(reading, read, at, folder)
        return
    files = ", ".join((DEFINITION_FILE, *FOLDER_FILES))
    if reading.can_read():
        reading.refuse(at, f"the folder holds none of {files}", value)
    else:
        rule = "names a folder, which ./prs submit reads; here write environment inline"
        reading.refuse(at, rule, value)


def refuse_registered_environment(reading: Reading, name: Any, at: Location) -> None:
    rule = (
        "is not registered here: give the environment inline, with conda_file, "
        "or the path of its YAML file"
    )
    reading.refuse(at, rule, name, target=("environment",))


def _put_read(reading: Reading, read: dict[str, Any], at: Location, folder: str) -> None:
    """A file may hold an environment, or be the conda file itself."""
    if "dependencies" in read:
        read = {"conda_file": read}
    _put_map(reading, read, at, folder)


def _put_map(reading: Reading, value: Any, at: Location, folder: str) -> None:
    members = reading.members(value, at, KEYS, rule=_RULE)
    reading.ignore(members, at, IGNORED)
    for name in ("environmentVariables", "environment_variables"):
        if name in members:
            _merge_variables(reading, members[name], (*at, name))
    if "conda_file" in members:
        _put_conda(reading, members["conda_file"], (*at, "conda_file"), folder)
    if "python" in members:
        _put_python(reading, members["python"], (*at, "python"), folder)


def _put_python(reading: Reading, value: Any, at: Location, folder: str) -> None:
    members = reading.members(value, at, PYTHON_KEYS)
    for name in ("condaDependencies", "condaDependenciesFile"):
        if name in members:
            _put_conda(reading, members[name], (*at, name), folder)
    reading.ignore(members, at, {"baseCondaEnvironment": "requirements are installed by pip"})
    path = members.get("interpreterPath", "python")
    if path != "python":
        reading.document.setdefault("environment", {})["python"] = path
        reading.spell(("environment", "python"), (*at, "interpreterPath"))


def _put_conda(reading: Reading, value: Any, at: Location, folder: str) -> None:
    if isinstance(value, str):
        path = below(folder, value)
        value = reading.map_of(path, at)
        folder = folder_of(path)
    if value is not None:
        reading.document["environment"] = environment_of_conda(reading, value, at, folder)


def _merge_variables(reading: Reading, value: Any, at: Location) -> None:
    """The job's own variables win over those of the environment."""
    given = reading.texts(value, at)
    if not isinstance(given, Mapping):
        reading.refuse(at, "must be a map of names to text", value)
        return
    own = reading.document.get("environment_variables", {})
    if isinstance(own, Mapping):
        reading.document["environment_variables"] = {**given, **own}
        reading.warn(at, "is merged into the job's environment_variables, which win.")
