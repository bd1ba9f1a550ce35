"""Make ready what a job's node makes ready: folders, working directory, variables, Python."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

from runner.core.layout import Home, JobFolder
from runner.core.messages import Assignment
from runner.core.states import JobKind
from runner.core.trial_events import TRIAL_NODE
from runner.node.environments import Environments
from runner.node.harness_config import StepPlace
from runner.node.process_environment import step_environment
from runner.node.references import fill_variables, find_reference_paths
from runner.node.step_spec import read_step_spec
from runner.node.work_folder import make_log_folders, unpack_snapshot
from runner.node.worker_process import Launch

ADDRESS = "127.0.0.1"
MARKS = ("PRSWEB_JOB_ID", "PRSWEB_NODE_NAME")  # how what processes leave behind is found


def prepare_launch(
    folder: JobFolder, *, temporary: Path, is_stopped: Callable[[], bool]
) -> Launch:
    """Return how the worker processes of the trial are started.

    Every output lies in the trial's own folder. Raises SpecUnreadable, NoInterpreter,
    EnvironmentFailed, BuildStopped, and OSError when the folder cannot be written.
    """
    spec = read_step_spec(folder.spec)
    assignment = _make_assignment(folder)
    output_folder = folder.output
    make_log_folders(folder, TRIAL_NODE)
    for path in (temporary, *(output_folder / name for name in spec.outputs)):
        path.mkdir(parents=True, exist_ok=True)
    work_dir = unpack_snapshot(folder, TRIAL_NODE, output_folder)
    environment = step_environment(
        assignment,
        address=ADDRESS,
        gpu_count=0,
        work_dir=work_dir,
        output_folder=output_folder,
        temporary=temporary,
        models=spec.models,
        own=fill_variables(
            spec.environment_variables, find_reference_paths(spec, output_folder)
        ),
    )
    environments = Environments(
        Home(Path(os.environ["PRSWEB_HOME"])).environments,
        os.environ.get("PRSWEB_JOB_PYTHON") or sys.executable,
        log=folder.logs / "sys" / "node" / TRIAL_NODE / "environment.txt",
        marks={name: environment[name] for name in MARKS},
        is_stopped=is_stopped,
    )
    python = environments.find_python(spec.environment(folder.snapshot))
    place = StepPlace(assignment, spec, folder, work_dir, output_folder, ADDRESS)
    return Launch(place, python, environment)


def _make_assignment(folder: JobFolder) -> Assignment:
    return Assignment(
        job_id=str(uuid.uuid4()),
        job_number=0,
        kind=JobKind.PARALLEL_RUN_STEP,
        attempt=1,
        number=1,
        node_name=TRIAL_NODE,
        node_index=0,
        boot_id="",
        folder=str(folder.root),
        node_count=1,
        is_main_address=ADDRESS,
    )
