"""Job specifications: one model behind job file, form, REST API and command line."""

from runner.core.specs.changes import Change, apply_settings, changed_fields, resubmission_base
from runner.core.specs.job_file import load_job_file
from runner.core.specs.multi_node import CommandSpec, MultiNodeSpec
from runner.core.specs.parallel_run_step import ParallelRunStepSpec
from runner.core.specs.parsing import ParsedSpec, Spec, dump_spec, parse_spec

__all__ = [
    "Change",
    "CommandSpec",
    "MultiNodeSpec",
    "ParallelRunStepSpec",
    "ParsedSpec",
    "Spec",
    "apply_settings",
    "changed_fields",
    "dump_spec",
    "load_job_file",
    "parse_spec",
    "resubmission_base",
]
