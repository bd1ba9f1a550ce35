"""A specification written as our YAML, as a v1 or as a v2 file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.core.problems import InvalidSpec, Problem, found_text
from runner.core.specs.azure.v1_text import v1_document
from runner.core.specs.azure.v2_text import v2_document
from runner.core.specs.changes import changed_fields, resubmission_base
from runner.core.specs.job_file import load_job_file
from runner.core.specs.job_text import write_job_file
from runner.core.specs.parallel_run_step import ParallelRunStepSpec
from runner.core.specs.parsing import Spec, dump_spec, parse_spec

OURS, V1, V2 = "prsweb", "azure-v1", "azure-v2"
FORMATS = (OURS, V1, V2)
_WRITERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    V1: v1_document,
    V2: v2_document,
}
_HINTS = {
    V1: "",
    V2: "task.environment: Azure asks for an image beside conda_file: add the one you use.",
}


@dataclass(frozen=True)
class ExportedSpec:
    text: str  # YAML
    lost: tuple[str, ...]  # paths of what the format cannot hold
    warnings: tuple[str, ...]  # a sentence for each, and what else to know


def export_spec(spec: Spec, file_format: str = OURS) -> ExportedSpec:
    """Return the specification as a file of one of FORMATS.

    What reads back otherwise than it was is named. Raises InvalidSpec for another
    format, and for a kind of job that Azure's files do not know.
    """
    if file_format not in FORMATS:
        rule = f"must be one of {', '.join(FORMATS)}"
        raise InvalidSpec([Problem("format", rule, found_text(file_format))])
    dumped = dump_spec(spec)
    if file_format == OURS:
        return ExportedSpec(write_job_file(resubmission_base(dumped)), (), ())
    if not isinstance(spec, ParallelRunStepSpec):
        rule = "must be parallel_run_step for a file of Azure"
        raise InvalidSpec([Problem("kind", rule, found_text(dumped["kind"]))])
    text = write_job_file(_WRITERS[file_format](dumped))
    lost = dict(_losses(spec, text))
    warnings = [f"{path}: {reason}" for path, reason in lost.items()]
    if spec.environment is not None and _HINTS[file_format]:
        warnings.append(_HINTS[file_format])
    return ExportedSpec(text, tuple(lost), tuple(warnings))


def _losses(spec: ParallelRunStepSpec, text: str) -> Iterator[tuple[str, str]]:
    """Yield path and sentence of all that the text, read back, does not hold."""
    try:
        again = parse_spec(load_job_file(text)).spec
    except InvalidSpec as invalid:
        for problem in invalid.problems:
            yield (
                problem.path,
                f"the file cannot be read back before this is set: {problem.rule}",
            )
        return
    for change in changed_fields(dump_spec(spec), dump_spec(again)):
        if change.path == "mini_batch_size" and str(change.old) == str(change.new):
            continue  # 20 and "20" are one size
        held = "nothing" if change.new is None else found_text(change.new)
        yield (
            change.path,
            f"{found_text(change.old)} cannot be held by this format; it reads back as {held}.",
        )
    kept = again.bindings if isinstance(again, ParallelRunStepSpec) else {}
    for path, template in spec.bindings.items():
        if kept.get(path) != template and template is not None:
            yield path, f"{template} is written as its value."
