"""What one node is told about itself, all of it by its environment."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.core.layout import Home


class BadSetting(ValueError):
    """An environment variable of the node is missing or is no such value."""


@dataclass(frozen=True)
class NodeSettings:
    home: Home
    redis_url: str
    name: str
    address: str
    vcpus: int
    memory_mib: int
    gpus: int
    location: str
    environment: str | None  # compute environment; None: every one
    instance_type: str | None
    job_python: str  # interpreter of jobs that bring none
    simulated: bool = True
    enforce_memory: bool = True


def read_settings(environment: Mapping[str, str] = os.environ) -> NodeSettings:
    """Return the settings, or raise BadSetting naming the variable."""
    return NodeSettings(
        home=Home(Path(_required(environment, "PRSWEB_HOME")).absolute()),
        redis_url=_required(environment, "PRSWEB_REDIS_URL"),
        name=_required(environment, "PRSWEB_NODE_NAME"),
        address=environment.get("PRSWEB_NODE_ADDRESS") or "127.0.0.1",
        vcpus=_whole(environment, "PRSWEB_NODE_VCPUS", os.cpu_count() or 1),
        memory_mib=_whole(environment, "PRSWEB_NODE_MEMORY_MIB", 1024),
        gpus=_whole(environment, "PRSWEB_NODE_GPUS", 0),
        location=environment.get("PRSWEB_NODE_LOCATION") or socket.gethostname(),
        environment=environment.get("PRSWEB_NODE_ENVIRONMENT") or None,
        instance_type=environment.get("PRSWEB_NODE_INSTANCE_TYPE") or None,
        job_python=environment.get("PRSWEB_JOB_PYTHON") or sys.executable,
        simulated=environment.get("PRSWEB_NODE_SIMULATED", "1") != "0",
        enforce_memory=environment.get("PRSWEB_ENFORCE_MEMORY", "1") != "0",
    )


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise BadSetting(f"{name} is not set; ./prs up and ./prs node set it")
    return value


def _whole(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise BadSetting(f"{name}: must be a whole number, 0 or more (found: {text!r})")
    return int(text)
