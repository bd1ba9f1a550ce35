"""The processes of one PRSWEB_HOME, found as the contract says: by their environment."""

from __future__ import annotations

from pathlib import Path

import psutil

PART_SIGNS = {
    "redis": "valkey-server",
    "web": "prsweb.cli.up.web",
    "orchestrator": "runner.orchestrator.main",
    "node": "runner.node.main",
}


def processes_of(home: Path) -> list[psutil.Process]:
    """Return every living process whose environment holds a path of ``home``."""
    return [one for one in psutil.process_iter() if _belongs_to(one, str(home))]


def processes_of_job(home: Path, job_id: str) -> list[psutil.Process]:
    """Return a job's processes: worker processes, commands, and what they started."""
    return [
        one for one in processes_of(home) if environment_of(one).get("PRSWEB_JOB_ID") == job_id
    ]


def worker_processes(home: Path, job_id: str, node: str | None = None) -> list[psutil.Process]:
    """Return a job's worker processes, of one node or of all."""
    return [
        one
        for one in processes_of_job(home, job_id)
        if any("harness" in word for word in command_of(one))
        and node in (None, environment_of(one).get("PRSWEB_NODE_NAME"))
    ]


def part(up_pid: int, kind: str, node: str | None = None) -> psutil.Process:
    """Return the web, orchestrator, redis or node process that ``up`` started."""
    for child in psutil.Process(up_pid).children():
        command = " ".join(command_of(child))
        if PART_SIGNS[kind] in command and node in (
            None,
            environment_of(child).get("PRSWEB_NODE_NAME"),
        ):
            return child
    raise LookupError(f"up {up_pid} has no {kind} {node or ''}")


def environment_of(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


def command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.Error, OSError):
        return []


def _belongs_to(process: psutil.Process, home: str) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
    except psutil.Error:
        return False
    environment = environment_of(process)
    return environment.get("PRSWEB_HOME") == home or environment.get(
        "PRSWEB_WORK_DIR", ""
    ).startswith(f"{home}/")
