"""One more node, beside those of ``prs up`` or on another machine."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from prsweb.cli.console import say
from prsweb.cli.failure import DONE, CommandFailed
from prsweb.cli.up.address import node_address
from prsweb.cli.up.home import LockFile, make_home, read_holder
from prsweb.cli.up.options import NodeSize
from prsweb.cli.up.parts import PartMaker, base_environment
from prsweb.cli.up.redis_server import running_redis_url
from prsweb.cli.up.signals import StopRequest
from prsweb.cli.up.supervisor import Supervisor
from prsweb.cli.up.watch import Watch
from runner.core.layout import Home

POLL_SECONDS = 0.1


class NameTaken(CommandFailed):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"a node named {name} runs on this machine already: give another --name",
            code="conflict",
        )


@dataclass(frozen=True)
class ExtraNode:
    """``run`` returns when a signal or a failing node ends it."""

    home: Home
    name: str
    size: NodeSize
    address: str | None  # None: the one that reaches Redis, or the next simulated one

    def run(self) -> int:
        """Return the exit status. Raises CommandFailed when it cannot start or go on."""
        redis_url = self._redis_url()
        make_home(self.home)
        if self.name in _names_of(self.home.up_lock):
            raise NameTaken(self.name)
        lock = LockFile.take(self.home.run / f"node-{self.name}.lock")
        if lock is None:
            raise NameTaken(self.name)
        try:
            return self._run_locked(lock, redis_url)
        finally:
            lock.release()

    def _redis_url(self) -> str:
        url = os.environ.get("PRSWEB_REDIS_URL") or running_redis_url(self.home)
        if url is None:
            raise CommandFailed(
                f"no system runs on {self.home.root}: start one with ./prs up, or set "
                "PRSWEB_REDIS_URL to the Redis of one on another machine",
                code="unavailable",
            )
        return url

    def _run_locked(self, lock: LockFile, redis_url: str) -> int:
        is_simulated = urlsplit(redis_url).scheme == "unix"
        address = self.address or _own_address(self.home, redis_url)
        watch = Watch(self.home, lock, node_names=[self.name], addresses=[address])
        environment = base_environment(self.home, redis_url=redis_url, up_id=watch.up_id)
        maker = PartMaker(self.home, environment)
        supervisor, request = Supervisor(say), StopRequest()
        request.listen()
        try:
            watch.start(environment)
            supervisor.start(maker.node(self.name, address, self.size, simulated=is_simulated))
            say(f"node {self.name} at {address}; Ctrl-C stops it")
            while not request.stop.wait(POLL_SECONDS):
                supervisor.look()
                watch.look()
            return DONE
        finally:
            supervisor.stop(hurry=request.hurry)
            watch.end()


def _own_address(home: Home, redis_url: str) -> str:
    """Return this machine's address towards Redis, or, where Redis is on a socket of
    this machine, the first simulated address that no other node has."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((parts.hostname or "127.0.0.1", parts.port or 6379))
            return str(probe.getsockname()[0])
        raise CommandFailed(
            f"PRSWEB_REDIS_URL names {parts.hostname}, which cannot be reached from here; "
            "correct it, or give --address"
        )
    taken = {address for file in home.run.glob("*.lock") for address in _addresses_of(file)}
    number = 1
    while node_address(number) in taken:
        number += 1
    return node_address(number)


def _names_of(lock: Path) -> tuple[str, ...]:
    holder = read_holder(lock)
    return holder.node_names if holder else ()


def _addresses_of(lock: Path) -> tuple[str, ...]:
    holder = read_holder(lock)
    return holder.addresses if holder else ()
