"""The keys of a v1 file.

Source: ParallelRunConfig,
https://learn.microsoft.com/python/api/azureml-pipeline-steps/azureml.pipeline.steps.parallelrunconfig
"""

from __future__ import annotations

TOP = "parallel_run_config"
BESIDE = "parallel_run_step"  # ours: what ParallelRunStep takes in Python

# Keys that mean the same here.
SAME = (
    "mini_batch_size",
    "partition_keys",
    "node_count",
    "process_count_per_node",
    "run_invocation_timeout",
    "run_max_try",
    "error_threshold",
    "allowed_failed_count",
    "allowed_failed_percent",
    "output_action",
    "append_row_file_name",
    "entry_script",
    "source_directory",
    "description",
    "logging_level",
)
COMPUTE = ("compute_target_name", "compute_target")
ENVIRONMENT = ("environment", "environment_dir_path", "environment_name")
CONFIG_KEYS = (*SAME, "environment_variables", *COMPUTE, *ENVIRONMENT)
REQUIRED = ("error_threshold", "output_action", "entry_script")
# What ParallelRunStep takes in Python, and behind it what only a job of ours has.
STEP_KEYS = (
    "name",
    "inputs",
    "side_inputs",
    "arguments",
    "output",
    "allow_reuse",
    "tags",
    "parameters",
    "models",
    "outputs",
    "time_limit",
    "sample_interval",
    "script_sees_settings",
    "accept_changed_inputs",
)
