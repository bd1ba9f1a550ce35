"""The environment of a job's processes, built anew: nothing is inherited."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from runner.core.attempt_files import hostfile_path
from runner.core.layout import JobFolder
from runner.core.messages import Assignment
from runner.core.states import JobKind

STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def base_environment(*, home: Path, temporary: Path) -> dict[str, str]:
    """Return what every process has, also where the node itself has little."""
    return {
        "PATH": os.environ.get("PATH") or STANDARD_PATH,
        "HOME": str(home),
        "LANG": os.environ.get("LANG") or "C.UTF-8",
        "TMPDIR": str(temporary),
        "USER": _user_name(),
    }


def step_environment(
    assignment: Assignment,
    *,
    address: str,
    gpu_count: int,
    work_dir: Path,
    output_folder: Path,
    temporary: Path,
    models: Mapping[str, str],
    own: Mapping[str, str],
) -> dict[str, str]:
    """Return what all worker processes of a node share; ``own`` are the job's.

    Each process adds its name and its GPU. ``PRSWEB_*`` cannot be overridden:
    they are how a process is found again.
    """
    is_first = assignment.node_index == 0
    environment = base_environment(home=work_dir.parent, temporary=temporary) | {
        "TERM": "dumb",
        "PYTHONUNBUFFERED": "1",
        "AZUREML_BI_OUTPUT_PATH": str(output_folder),
        "AZUREML_RUN_ID": assignment.job_id,
        "AZUREML_NODE_COUNT": str(assignment.node_count),
        "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true" if is_first else "false",
        "AZ_BATCH_MASTER_NODE": assignment.is_main_address or address,
        "AZ_BATCHAI_GPU_COUNT_FOUND": str(gpu_count),
    }
    if models:
        environment["AZUREML_MODEL_DIR"] = _model_folder(models)
    environment |= own
    return environment | {
        "PRSWEB_JOB_ID": assignment.job_id,
        "PRSWEB_NODE_NAME": assignment.node_name,
        "PRSWEB_NODE_ADDRESS": address,
        "PRSWEB_WORK_DIR": str(work_dir),
    }


def command_environment(
    assignment: Assignment,
    *,
    address: str,
    work_dir: Path,
    folder: JobFolder,
    temporary: Path,
    devices: str,
    own: Mapping[str, str],
) -> dict[str, str]:
    """Return what the command of a multi-node or plain job gets.

    Ours, then the job's own, then ``AWS_BATCH_*``; the marks by which a process
    is found again cannot be overridden either.

    Source: https://docs.aws.amazon.com/batch/latest/userguide/job_env_vars.html
    """
    is_multi_node = assignment.kind == JobKind.MULTI_NODE
    environment = base_environment(home=work_dir.parent, temporary=temporary)
    environment["CUDA_VISIBLE_DEVICES"] = devices
    if is_multi_node:
        environment["PRSWEB_SHARED_DIR"] = str(folder.shared)
        environment["PRSWEB_HOSTFILE"] = str(hostfile_path(folder, assignment.attempt))
    environment |= own
    environment |= {
        "PRSWEB_JOB_ID": assignment.job_id,
        "PRSWEB_NODE_NAME": assignment.node_name,
        "PRSWEB_NODE_ADDRESS": address,
        "PRSWEB_WORK_DIR": str(work_dir),
        "AWS_BATCH_JOB_ID": assignment.job_id,
        "AWS_BATCH_JOB_ATTEMPT": str(assignment.attempt),
        "AWS_BATCH_CE_NAME": assignment.environment,
        "AWS_BATCH_JQ_NAME": assignment.queue,
    }
    return environment | (_node_variables(assignment) if is_multi_node else {})


def _node_variables(assignment: Assignment) -> dict[str, str]:
    variables = {
        "AWS_BATCH_JOB_ID": f"{assignment.job_id}#{assignment.node_index}",
        "AWS_BATCH_JOB_NODE_INDEX": str(assignment.node_index),
        "AWS_BATCH_JOB_NUM_NODES": str(assignment.node_count),
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(assignment.main_node),
    }
    if assignment.node_index != assignment.main_node:
        # Scripts test whether it exists: the main node has no such variable.
        name = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
        variables[name] = assignment.is_main_address
    return variables


def _model_folder(models: Mapping[str, str]) -> str:
    """Return the one model, or the folder that holds them all."""
    paths = list(models.values())
    return paths[0] if len(paths) == 1 else os.path.commonpath(paths)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
