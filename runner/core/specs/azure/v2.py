"""Reading a v2 job of type parallel.

Source: https://learn.microsoft.com/azure/machine-learning/reference-yaml-job-parallel
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from runner.core.problems import found_text
from runner.core.specs.azure.component import merge_component
from runner.core.specs.azure.data import main_input, put_inputs, put_outputs
from runner.core.specs.azure.environment import put_environment
from runner.core.specs.azure.job_name import DISPLAY_TAG, put_name
from runner.core.specs.azure.names import last_part, our_path
from runner.core.specs.azure.program_arguments import put_arguments
from runner.core.specs.azure.reading import ReadFile, Reading, without_scheme
from runner.core.specs.azure.references import References
from runner.core.specs.imported import ImportedDocument
from runner.core.specs.model import INT_MAX
from runner.core.specs.paths import Location

IGNORED = {
    "properties": "properties belong to Azure",
    "experiment_name": "there are no experiments; use tags",
    "identity": "the job runs as the node's user",
    "services": "interactive services are not offered",
    "queue_settings": "jobs wait in their queue",
}
IGNORED_RESOURCES = {
    "instance_type": "any node of the queue is used",
    "shm_size": "there are no Docker containers",
    "docker_args": "there are no Docker containers",
    "properties": "properties belong to Azure",
}
IGNORED_SETTINGS = {
    "default_datastore": "results lie in the job's own output folder",
    "continue_on_step_failure": "it belongs to pipelines",
    "force_rerun": "use is_deterministic: false",
}
SETTINGS_KEYS = ("default_compute", *IGNORED_SETTINGS)
RESOURCE_KEYS = ("instance_count", *IGNORED_RESOURCES)
RETRY_KEYS = ("timeout", "max_retries")
TASK_KEYS = (
    "type",
    "code",
    "entry_script",
    "program_arguments",
    "append_row_to",
    "environment",
    "model",
)
_COUNT = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
# Our key: where it stands in the file, and whether text stands for a number there.
SAME: dict[str, tuple[Location, bool]] = {
    "description": (("description",), False),
    "logging_level": (("logging_level",), False),
    "partition_keys": (("partition_keys",), False),
    "allow_reuse": (("is_deterministic",), False),
    "process_count_per_node": (("max_concurrency_per_instance",), True),
    "error_threshold": (("error_threshold",), True),
    "mini_batch_error_threshold": (("mini_batch_error_threshold",), True),
    "node_count": (("resources", "instance_count"), True),
    "run_invocation_timeout": (("retry_settings", "timeout"), True),
    "entry_script": (("task", "entry_script"), False),
}
KEYS = (
    "$schema",
    "type",
    "name",
    "version",
    "display_name",
    "description",
    "tags",
    "component",
    "is_deterministic",
    "compute",
    "settings",
    "resources",
    "inputs",
    "outputs",
    "input_data",
    "mini_batch_size",
    "partition_keys",
    "mini_batch_error_threshold",
    "error_threshold",
    "max_concurrency_per_instance",
    "retry_settings",
    "logging_level",
    "environment_variables",
    "task",
    *IGNORED,
)


def translate_v2(raw: Mapping[str, Any], read_file: ReadFile | None) -> ImportedDocument:
    """Return our document of a v2 parallel job; what is wrong stands in it."""
    reading = Reading(read_file)
    reading.document["kind"] = "parallel_run_step"
    job = reading.members(merge_component(reading, raw), (), KEYS)
    reading.ignore(job, (), IGNORED)
    for name, known in (
        ("task", TASK_KEYS),
        ("resources", RESOURCE_KEYS),
        ("retry_settings", RETRY_KEYS),
        ("settings", SETTINGS_KEYS),
    ):
        job[name] = reading.members(job.get(name), (name,), known)
    reading.ignore(job["resources"], ("resources",), IGNORED_RESOURCES)
    reading.ignore(job["settings"], ("settings",), IGNORED_SETTINGS)
    _put_job(reading, job)
    return reading.document


def _put_job(reading: Reading, job: Mapping[str, Any]) -> None:
    task = job["task"]
    main = main_input(reading, job, is_needed=not _is_ranked(task.get("program_arguments")))
    groups = put_inputs(reading, job.get("inputs"), main)
    put_outputs(reading, job.get("outputs"), task.get("append_row_to"))
    references = References(reading, groups, list(reading.document.get("outputs", {})))
    _put_same(reading, job, references)
    _put_size(reading, job, references)
    _put_tries(reading, job["retry_settings"].get("max_retries"), references)
    _put_code(reading, task)
    _put_texts(reading, job, references)
    _put_compute(reading, job)
    _put_model(reading, task.get("model"))
    if "environment" in task:
        put_environment(reading, task["environment"], ("task", "environment"))
    else:
        reading.warn(
            ("task", "environment"), "there is none; the node's own Python runs the script."
        )
    put_arguments(reading, task.get("program_arguments"), references)
    display = job.get("display_name")
    at: Location = ("name",) if "name" in job or display is None else ("display_name",)
    put_name(reading, job.get("name", display), at)
    if isinstance(display, str) and "name" in job:
        tags = reading.document.setdefault("tags", {})
        if isinstance(tags, dict):
            tags.setdefault(DISPLAY_TAG, display)


def _is_ranked(arguments: Any) -> bool:
    """Whether the job has mini-batches without data, and so no input."""
    try:
        words = shlex.split(arguments) if isinstance(arguments, str) else []
    except ValueError:
        return False
    return any(word.partition("=")[0] == "--rank_mini_batch_count" for word in words)


def _at(job: Mapping[str, Any], location: Location) -> Any:
    value: Any = job
    for part in location:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _put_same(reading: Reading, job: Mapping[str, Any], references: References) -> None:
    for target, (at, is_number) in SAME.items():
        reading.spell((target,), at)
        value = _at(job, at)
        if value is not None:
            value = references.number(value) if is_number else value
            reading.put((target,), references.rewritten(value, at), at)


def _put_size(reading: Reading, job: Mapping[str, Any], references: References) -> None:
    at: Location = ("mini_batch_size",)
    size = job.get("mini_batch_size")
    if size is None:
        return
    if job.get("partition_keys") is not None:
        reading.warn(at, "has no effect: partition_keys makes one mini-batch per combination.")
        return
    if isinstance(size, int) and not isinstance(size, bool):
        reading.warn(at, f'is text in this format: write "{size}".')
    size = int(size) if isinstance(size, str) and _COUNT.fullmatch(size) else size
    reading.put(at, references.rewritten(size, at), at)


def _put_tries(reading: Reading, given: Any, references: References) -> None:
    """The file counts retries, we count tries."""
    at: Location = ("retry_settings", "max_retries")
    reading.spell(("run_max_try",), at)
    if given is None:
        return
    value = references.value(given)
    retries = references.number(value)
    is_whole = isinstance(retries, int) and not isinstance(retries, bool)
    if not is_whole or not 0 <= retries < INT_MAX:
        origin = f"; the value comes from {given[3:-2].strip()}" if value is not given else ""
        reading.refuse(at, f"must be a whole number of at least 0{origin}", value)
        return
    if value is not given:
        text = "is taken as it is now: at a resubmission set run_max_try."
        reading.warn(at, f"{given} {text}")
    reading.put(("run_max_try",), retries + 1, at)


def _put_code(reading: Reading, task: Mapping[str, Any]) -> None:
    if task.get("type", "run_function") != "run_function":
        reading.refuse(("task", "type"), "must be run_function", task["type"])
    at: Location = ("task", "code")
    code = task.get("code")
    reading.spell(("source_directory",), at)
    if isinstance(code, str):
        code = without_scheme(code)
        if code.startswith(("azureml:", "git+")) or "://" in code:
            rule = "must be the path of a folder: code that Azure keeps is not here"
            reading.refuse(at, rule, code, target=("source_directory",))
            return
    if code is not None:
        reading.put(("source_directory",), code, at)


def _put_texts(reading: Reading, job: Mapping[str, Any], references: References) -> None:
    for name in ("tags", "environment_variables"):
        at: Location = (name,)
        if name in job:
            texts = reading.texts(job[name], at)
            reading.put(at, references.rewritten(texts, at), at)


def _put_compute(reading: Reading, job: Mapping[str, Any]) -> None:
    at: Location = ("compute",)
    compute = job.get("compute")
    if compute is None:
        at = ("settings", "default_compute")
        compute = job["settings"].get("default_compute")
    if compute is not None:
        queue = compute.removeprefix("azureml:") if isinstance(compute, str) else compute
        reading.put(("queue",), queue, at)


def _put_model(reading: Reading, given: Any) -> None:
    at: Location = ("task", "model")
    if given is None:
        return
    members = given if isinstance(given, str) else None
    if members is None:
        known = reading.members(given, at, ("name", "path", "type", "version", "description"))
        members, name = known.get("path"), known.get("name")
    else:
        name = None
    if not isinstance(members, str):
        reading.refuse(at, "must be a path, azureml:NAME:VERSION, or a map with path", given)
        return
    try:
        path = our_path(members)
    except ValueError as error:
        reading.refuse(at, str(error), members)
        return
    name = name or last_part(path.rstrip("/")).removeprefix("dataset:").split("@")[0]
    if not isinstance(name, str) or not name:
        reading.refuse(at, "needs a name", found_text(given))
        return
    reading.put(("models", _identifier(name)), {"path": path}, at)


def _identifier(name: str) -> str:
    made = "".join(
        one if one.isascii() and (one.isalnum() or one == "_") else "_" for one in name
    )
    return made if not made[0].isdigit() else f"_{made}"
