"""Job specifications: one model behind job file, form, REST API and command line."""

from runner.core.specs.azure import ReadFile, UnreadableFile, import_document
from runner.core.specs.azure.export import ExportedSpec, export_spec
from runner.core.specs.changes import Change, changed_fields, resubmission_base
from runner.core.specs.checks import SpecLimits
from runner.core.specs.command import CommandSpec
from runner.core.specs.imported import ImportedDocument, with_notes
from runner.core.specs.job_file import load_job_file
from runner.core.specs.job_text import write_job_file
from runner.core.specs.mini_batch_size import Bytes, Files, MiniBatchSize, Rows
from runner.core.specs.multi_node import MultiNodeSpec, NodeGroup, Resources
from runner.core.specs.parallel_run_step import ParallelRunStepSpec
from runner.core.specs.parsing import ParsedSpec, Spec, dump_spec, parse_spec
from runner.core.specs.settings import apply_settings

__all__ = [
    "Bytes",
    "Change",
    "CommandSpec",
    "ExportedSpec",
    "Files",
    "ImportedDocument",
    "MiniBatchSize",
    "MultiNodeSpec",
    "NodeGroup",
    "ParallelRunStepSpec",
    "ParsedSpec",
    "ReadFile",
    "Resources",
    "Rows",
    "Spec",
    "SpecLimits",
    "UnreadableFile",
    "apply_settings",
    "changed_fields",
    "dump_spec",
    "export_spec",
    "import_document",
    "load_job_file",
    "parse_spec",
    "resubmission_base",
    "with_notes",
    "write_job_file",
]
