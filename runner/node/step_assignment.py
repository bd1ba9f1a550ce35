"""Prepare a node for its part in a ParallelRunStep job, run it, and clear up."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from runner.core.layout import JobFolder
from runner.core.messages import Assignment
from runner.core.redis_keys import JobKeys
from runner.node.environments import Environments
from runner.node.exchanger import Exchanger
from runner.node.gpu_slots import GpuSlots
from runner.node.harness_config import StepPlace
from runner.node.journal import Journal
from runner.node.leftovers import Leftovers
from runner.node.orders import OrderListener
from runner.node.performance_files import PerformanceFiles
from runner.node.process_environment import step_environment
from runner.node.redis_link import connect
from runner.node.references import fill_variables, find_reference_paths
from runner.node.resource_monitor import ResourceMonitor
from runner.node.step_agent import StepAgent
from runner.node.step_part import StepPart
from runner.node.step_spec import StepSpec, read_step_spec
from runner.node.supply import Supply
from runner.node.this_node import ThisNode
from runner.node.wake_pipe import WakePipe
from runner.node.work_folder import (
    make_log_folders,
    make_temporary_folder,
    remove_temporary_folder,
    unpack_snapshot,
)
from runner.node.worker_process import Launch

logger = logging.getLogger(__name__)

MARKS = ("PRSWEB_JOB_ID", "PRSWEB_NODE_NAME", "PRSWEB_WORK_DIR")  # how processes are found


def run_step_assignment(
    node: ThisNode, assignment: Assignment, journal: Journal, leftovers: Leftovers
) -> None:
    """Run worker processes until the job ends, the node is stopped or gives up.

    Raises SpecUnreadable, NoInterpreter, EnvironmentFailed, BuildStopped, and
    OSError when the job folder cannot be written.
    """
    temporary = make_temporary_folder(node.settings)
    wake = WakePipe()
    control = JobKeys(assignment.job_id).control(assignment.number)
    orders = OrderListener(node.settings.redis_url, control, on_order=wake.ring)
    orders.start()
    try:
        launch = _prepare(node, assignment, temporary, orders)
        _supervise(node, launch, journal, leftovers, orders, wake)
    finally:
        orders.close()
        wake.close()
        remove_temporary_folder(temporary)


def _prepare(
    node: ThisNode, assignment: Assignment, temporary: Path, orders: OrderListener
) -> Launch:
    folder = JobFolder(Path(assignment.folder))
    spec = read_step_spec(folder.spec)
    output_folder = find_output_folder(spec, folder)
    make_log_folders(folder, assignment.node_name)
    output_folder.mkdir(parents=True, exist_ok=True)
    for name, path in spec.outputs.items():
        (Path(path) if path else output_folder / name).mkdir(parents=True, exist_ok=True)
    work_dir = unpack_snapshot(folder, assignment.node_name, output_folder)
    environment = step_environment(
        assignment,
        address=node.settings.address,
        gpu_count=assignment.gpus,
        work_dir=work_dir,
        output_folder=output_folder,
        temporary=temporary,
        models=spec.models,
        own=fill_variables(
            spec.environment_variables, find_reference_paths(spec, output_folder)
        ),
    )
    place = StepPlace(assignment, spec, folder, work_dir, output_folder, node.settings.address)
    environments = Environments(
        node.settings.home.environments,
        node.settings.job_python,
        log=folder.logs / "sys" / "node" / assignment.node_name / "environment.txt",
        marks={name: environment[name] for name in MARKS},
        is_stopped=lambda: node.stop.is_set() or orders.is_over.is_set(),
    )
    python = environments.find_python(spec.environment(folder.snapshot))
    return Launch(place, python, environment)


def _supervise(
    node: ThisNode,
    launch: Launch,
    journal: Journal,
    leftovers: Leftovers,
    orders: OrderListener,
    wake: WakePipe,
) -> None:
    assignment, spec = launch.place.assignment, launch.place.spec
    keys = JobKeys(assignment.job_id)
    exchanger = Exchanger(
        connect(node.settings.redis_url),
        keys,
        assignment.number,
        live_key=keys.live(assignment.node_name),
        on_answer=wake.ring,
    )
    monitor = ResourceMonitor(
        sample_seconds=spec.sample_seconds,
        file_seconds=spec.monitor_seconds,
        files=PerformanceFiles(launch.place.folder.perf(assignment.node_name)),
        on_sample=wake.ring,
    )
    gpus = GpuSlots(assignment.gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
    exchanger.start()
    try:
        part = StepPart(launch, gpus, Supply(exchanger, journal), monitor)
        StepAgent(node, part, exchanger, orders, wake).run(leftovers)
    finally:
        exchanger.close()
        monitor.close()
        exchanger.join(timeout=10.0)


def find_output_folder(spec: StepSpec, folder: JobFolder) -> Path:
    """Return where the job's files are kept: the path of the job file, or the
    job's own folder."""
    path = spec.output.get("path")
    return Path(path) if path else folder.output
