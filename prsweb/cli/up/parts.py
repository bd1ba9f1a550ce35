"""The parts of a system: their commands and what they are told."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prsweb.cli.up.address import allowed_hosts, is_loopback, node_address
from prsweb.cli.up.leftovers import UP_MARK
from prsweb.cli.up.options import NodeSize, UpOptions
from prsweb.cli.up.part import Part, StopStage
from prsweb.cli.up.redis_server import RedisServer
from prsweb.paths import CHECKOUT
from runner.core.layout import Home

# For the commands of whoever started us, not for the parts.
COMMAND_VARIABLES = ("PRSWEB_SERVER", "PRSWEB_TOKEN", "PYTHONPATH")


@dataclass(frozen=True)
class PartMaker:
    """Makes the parts of one ``prs up`` or ``prs node``."""

    home: Home
    environment: Mapping[str, str]

    def redis(self, server: RedisServer) -> Part:
        return self._part(
            "redis",
            server.argv,
            StopStage.REDIS,
            grace_seconds=5.0,
            remedy=f"If its data is damaged, move {self.home.redis_data} away: "
            "jobs and results lie elsewhere, and what waits is queued anew.",
        )

    def web(self, listener: socket.socket) -> Part:
        descriptor = listener.fileno()
        return self._part(
            "web",
            _python("prsweb.cli.up.web", str(descriptor)),
            StopStage.WORK,
            grace_seconds=4.0,
            pass_fds=(descriptor,),
        )

    def orchestrator(self) -> Part:
        return self._part(
            "orchestrator",
            _python("runner.orchestrator.main"),
            StopStage.ORCHESTRATOR,
            grace_seconds=4.0,
        )

    def node(self, name: str, address: str, size: NodeSize, *, simulated: bool = True) -> Part:
        told = {
            "PRSWEB_NODE_NAME": name,
            "PRSWEB_NODE_ADDRESS": address,
            "PRSWEB_NODE_VCPUS": str(size.vcpus),
            "PRSWEB_NODE_MEMORY_MIB": str(size.memory_mib),
            "PRSWEB_NODE_GPUS": str(size.gpus),
            "PRSWEB_NODE_SIMULATED": "1" if simulated else "0",
        }
        # Its jobs have 5 s to end, and the node itself needs a moment.
        return self._part(
            name, _python("runner.node.main"), StopStage.WORK, grace_seconds=8.0, told=told
        )

    def nodes(self, options: UpOptions) -> list[Part]:
        size = options.node_size()
        return [
            self.node(f"n{number}", node_address(number), size)
            for number in range(1, options.nodes + 1)
        ]

    def prepare(self) -> Part:
        """Migrations, the administrator, their token and a sign-in link; ends by itself."""
        return self._part(
            "prepare", _python("prsweb.cli.up.prepare"), StopStage.WORK, grace_seconds=2.0
        )

    def _part(
        self,
        name: str,
        argv: tuple[str, ...],
        stage: StopStage,
        *,
        grace_seconds: float,
        pass_fds: tuple[int, ...] = (),
        told: Mapping[str, str] | None = None,
        remedy: str = "",
    ) -> Part:
        return Part(
            name=name,
            argv=argv,
            environment={**self.environment, **(told or {})},
            log=self.home.logs / f"{name}.log",
            stage=stage,
            grace_seconds=grace_seconds,
            pass_fds=pass_fds,
            remedy=remedy,
        )


def base_environment(home: Home, *, redis_url: str, up_id: str) -> dict[str, str]:
    """Return what every part is told, on top of the user's own environment."""
    own = {key: value for key, value in os.environ.items() if key not in COMMAND_VARIABLES}
    return own | {
        "PRSWEB_HOME": str(home.root),
        "PRSWEB_REDIS_URL": redis_url,
        "PYTHONUNBUFFERED": "1",
        UP_MARK: up_id,
    }


def server_environment(options: UpOptions, url: str) -> dict[str, str]:
    """Return the settings that follow from the address, unless they are set."""
    given = os.environ.get("PRSWEB_ALLOWED_HOSTS", "")
    hosts = [*filter(None, given.split(",")), *allowed_hosts(options.host)]
    return {
        "PRSWEB_PUBLIC_URL": os.environ.get("PRSWEB_PUBLIC_URL") or url.rstrip("/"),
        "PRSWEB_ALLOWED_HOSTS": ",".join(dict.fromkeys(hosts)),
        "PRSWEB_INPUT_ROOTS": os.environ.get("PRSWEB_INPUT_ROOTS")
        or default_input_roots(options.host),
        "PRSWEB_UP_NODES": str(options.nodes),
    }


def default_input_roots(host: str) -> str:
    """Return where inputs may lie: what the user sees anyway on a server for this
    machine alone, nothing on one that others reach."""
    if not is_loopback(host):
        return ""
    roots = [Path.home(), CHECKOUT, Path(tempfile.gettempdir())]
    with suppress(FileNotFoundError):  # started in a folder that is gone
        roots.append(Path.cwd())
    return os.pathsep.join(dict.fromkeys(str(root.resolve()) for root in roots))


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
