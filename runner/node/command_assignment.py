"""Prepare a node for its part in a multi-node or plain job, run it, clear up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.core.attempt_files import exit_file_path, hostfile_path, hostfile_text
from runner.core.layout import JobFolder
from runner.core.messages import Assignment
from runner.core.node_groups import find_node_group
from runner.core.redis_keys import JobKeys
from runner.core.states import JobKind
from runner.node.command_agent import CommandAgent
from runner.node.command_guard import Plan
from runner.node.command_spec import CommandSpec
from runner.node.gpu_slots import GpuSlots
from runner.node.guard_process import GuardProcess
from runner.node.journal import Journal
from runner.node.leftovers import Leftovers
from runner.node.orders import OrderListener
from runner.node.performance_files import PerformanceFiles
from runner.node.plain_reporter import PlainReporter
from runner.node.process_environment import base_environment, command_environment
from runner.node.redis_link import connect
from runner.node.resource_monitor import ResourceMonitor
from runner.node.step_spec import read_members
from runner.node.this_node import ThisNode
from runner.node.wake_pipe import WakePipe
from runner.node.work_folder import copy_tree, make_temporary_folder, remove_temporary_folder

MIB = 1024 * 1024
SAMPLE_SECONDS = 5.0


def run_command_assignment(
    node: ThisNode, assignment: Assignment, journal: Journal, leftovers: Leftovers
) -> None:
    """Run the node's command until it ends or is stopped.

    Raises SpecUnreadable, NodeRangeInvalid, and OSError when the job folder
    cannot be written.
    """
    folder = JobFolder(Path(assignment.folder))
    temporary = make_temporary_folder(node.settings)
    try:
        plan = _prepare(node, assignment, folder, temporary)
        _supervise(node, assignment, plan, temporary, journal, leftovers)
    finally:
        remove_temporary_folder(temporary)


def _prepare(
    node: ThisNode, assignment: Assignment, folder: JobFolder, temporary: Path
) -> Plan:
    members = read_members(folder.spec)
    spec = CommandSpec.of_node(members, assignment.node_index)
    work_dir = folder.attempt_work(assignment.node_index, assignment.attempt)
    copy_tree(folder.snapshot, work_dir)
    folder.shared.mkdir(exist_ok=True)
    if assignment.kind == JobKind.MULTI_NODE:
        write_hostfile(assignment, folder, members)
    is_limited = node.settings.enforce_memory and spec.memory_mib is not None
    return Plan(
        argv=list(spec.argv),
        environment=command_environment(
            assignment,
            address=node.settings.address,
            work_dir=work_dir,
            folder=folder,
            temporary=temporary,
            devices=_granted_devices(assignment.gpus),
            own=spec.environment,
        ),
        work_dir=str(work_dir),
        log=str(folder.attempt_log(assignment.node_index, assignment.attempt)),
        exit_file=str(exit_file_path(folder, assignment.node_index, assignment.attempt)),
        grace_seconds=spec.grace_seconds,
        memory_limit_bytes=(spec.memory_mib or 0) * MIB if is_limited else 0,
        node_name=assignment.node_name,
    )


def write_hostfile(
    assignment: Assignment, folder: JobFolder, members: Mapping[str, Any]
) -> None:
    """Write the attempt's host file. Every node does, with the same content, so it
    is there before any command starts; it appears whole."""
    path = hostfile_path(folder, assignment.attempt)
    vcpus = [
        int(find_node_group(members, index).get("vcpus") or 1)
        for index in range(len(assignment.addresses))
    ]
    unfinished = path.with_name(f"{path.name}.{assignment.node_index}")
    unfinished.write_text(hostfile_text(zip(assignment.addresses, vcpus, strict=True)))
    unfinished.replace(path)


def _supervise(
    node: ThisNode,
    assignment: Assignment,
    plan: Plan,
    temporary: Path,
    journal: Journal,
    leftovers: Leftovers,
) -> None:
    keys, url = JobKeys(assignment.job_id), node.settings.redis_url
    folder = JobFolder(Path(assignment.folder))
    wake = WakePipe()
    reporter = PlainReporter(connect(url), keys, journal)
    orders = OrderListener(url, keys.control(assignment.number), on_order=wake.ring)
    monitor = ResourceMonitor(
        sample_seconds=SAMPLE_SECONDS,
        file_seconds=0.0,
        files=PerformanceFiles(folder.perf(assignment.node_name)),
        on_sample=wake.ring,
    )
    guard = GuardProcess(plan, _guard_environment(node, plan, temporary))
    for thread in (reporter, orders, monitor):
        thread.start()
    try:
        exit_file = Path(plan.exit_file)
        agent = CommandAgent(
            node, assignment, guard, reporter, orders, monitor, wake, exit_file
        )
        agent.run(leftovers)
    finally:
        guard.close()  # which ends the command if it still runs
        orders.close()
        monitor.close()
        reporter.close()
        wake.close()


def _guard_environment(node: ThisNode, plan: Plan, temporary: Path) -> dict[str, str]:
    """The guard carries the marks of the job, so that it is found like its command."""
    marks = ("PRSWEB_JOB_ID", "PRSWEB_NODE_NAME", "PRSWEB_WORK_DIR")
    return {
        **base_environment(home=Path(plan.work_dir).parent, temporary=temporary),
        **{name: plan.environment[name] for name in marks},
        "PRSWEB_HOME": str(node.settings.home.root),
    }


def _granted_devices(count: int) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES, empty without GPUs."""
    slots = GpuSlots(count, os.environ.get("CUDA_VISIBLE_DEVICES"))
    return ",".join(slots.device(index) for index in range(count))
