"""Reading a v1 file: ``parallel_run_config``, and ``parallel_run_step`` beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.specs.azure.environment import (
    put_environment,
    put_environment_folder,
    refuse_registered_environment,
)
from runner.core.specs.azure.job_name import put_name
from runner.core.specs.azure.names import our_path
from runner.core.specs.azure.reading import ReadFile, Reading
from runner.core.specs.azure.v1_keys import (
    BESIDE,
    COMPUTE,
    CONFIG_KEYS,
    REQUIRED,
    SAME,
    STEP_KEYS,
    TOP,
)
from runner.core.specs.imported import ImportedDocument
from runner.core.specs.paths import Location


def translate_v1(raw: Mapping[str, Any], read_file: ReadFile | None) -> ImportedDocument:
    """Return our document of a v1 file; what is wrong stands in it."""
    reading = Reading(read_file)
    reading.document["kind"] = "parallel_run_step"
    top = reading.members(raw, (), (TOP, BESIDE))
    if TOP not in top:
        reading.refuse((TOP,), "is required: the settings of the job")
    config = reading.members(top.get(TOP), (TOP,), CONFIG_KEYS)
    step = reading.members(top.get(BESIDE), (BESIDE,), STEP_KEYS)
    _put_config(reading, config)
    _put_step(reading, step)
    put_name(reading, step.get("name"), (BESIDE, "name"))
    return reading.document


def _put_config(reading: Reading, config: Mapping[str, Any]) -> None:
    for name in SAME:
        reading.spell((name,), (TOP, name))
        if name in config:
            reading.put((name,), config[name], (TOP, name))
    # Its other name here; a problem is told under the one of the file.
    reading.spell(("mini_batch_error_threshold",), (TOP, "allowed_failed_count"))
    for name in REQUIRED:
        if name not in config:
            reading.refuse((TOP, name), "is required", target=(name,))
    variables = (TOP, "environment_variables")
    if "environment_variables" in config:
        given = reading.texts(config["environment_variables"], variables)
        reading.put(("environment_variables",), given, variables)
    _put_compute(reading, config)
    _put_environment(reading, config)


def _put_compute(reading: Reading, config: Mapping[str, Any]) -> None:
    given = [name for name in COMPUTE if name in config]
    if len(given) > 1 and config[given[0]] != config[given[1]]:
        rule = f"is another name of {given[0]}, which has another value: give one of the two"
        reading.refuse((TOP, given[1]), rule, config[given[1]])
    if given:
        value = config[given[0]]
        queue = value.removeprefix("azureml:") if isinstance(value, str) else value
        reading.put(("queue",), queue, (TOP, given[0]))


def _put_environment(reading: Reading, config: Mapping[str, Any]) -> None:
    if "environment" in config:
        reading.ignore(config, (TOP,), {"environment_dir_path": "environment is given"})
        put_environment(reading, config["environment"], (TOP, "environment"))
    elif "environment_dir_path" in config:
        folder = config["environment_dir_path"]
        put_environment_folder(reading, folder, (TOP, "environment_dir_path"))
    elif "environment_name" in config:
        name = config["environment_name"]
        refuse_registered_environment(reading, name, (TOP, "environment_name"))
    else:
        at = (TOP, "environment")
        reading.warn(at, "there is none; the node's own Python runs the script.")


def _put_step(reading: Reading, step: Mapping[str, Any]) -> None:
    for name in STEP_KEYS:
        if name != "name" and name in step:
            reading.put((name,), step[name], (BESIDE, name))
        else:
            reading.spell((name,), (BESIDE, name))
    inputs = step.get("inputs")
    for index, one in enumerate(inputs if isinstance(inputs, list) else []):
        _take_path(reading, one, "path", (BESIDE, "inputs", index), ("inputs", index))
    side_inputs = step.get("side_inputs")
    if isinstance(side_inputs, dict):
        for name, one in side_inputs.items():
            at: Location = (BESIDE, "side_inputs", name)
            if isinstance(one, str):
                _take_path(reading, side_inputs, name, at[:-1], ("side_inputs",))
            else:
                _take_path(reading, one, "path", at, ("side_inputs", name))


def _take_path(
    reading: Reading, holder: Any, name: str, at: Location, target: Location
) -> None:
    """Write the path, or each of several, as ours in its place."""
    value = holder.get(name) if isinstance(holder, dict) else None
    entries = value if isinstance(value, list) else [value]
    taken: list[Any] = []
    for one in entries:
        try:
            taken.append(our_path(one) if isinstance(one, str) else one)
        except ValueError as error:
            reading.refuse((*at, name), str(error), one, target=(*target, name))
            return
    if value is not None:
        holder[name] = taken if isinstance(value, list) else taken[0]
