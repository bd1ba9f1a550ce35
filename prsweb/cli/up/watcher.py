"""Clean up after a ``prs up`` that could not: the rescuer for ``kill -9`` of it.

    python -m prsweb.cli.up.watcher ORDER

It reads from a pipe whose other end ``prs up`` alone holds. A byte means that it
stopped properly; an end without one, that it was killed. Until everything is gone
the watcher keeps the lock, so that a new ``prs up`` waits for that.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from prsweb.cli.up.home import LockFile
from prsweb.cli.up.leftovers import Marks, sweep
from runner.core.layout import Home

GRACE_SECONDS = 8.0  # the nodes give their jobs 5 of them
STOPPED_PROPERLY = b"."


@dataclass(frozen=True)
class WatchOrder:
    alive_fd: int  # the pipe's reading end
    lock_fd: int
    lock_path: str
    home: str
    up_id: str
    node_names: tuple[str, ...]
    files: tuple[str, ...]  # to remove at the end: sockets, server.json

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WatchOrder:
        return cls(**json.loads(text))

    @property
    def marks(self) -> Marks:
        return Marks(Home(Path(self.home)), self.up_id, frozenset(self.node_names))


def main(arguments: list[str]) -> int:
    order = WatchOrder.from_json(arguments[0])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends last, and not by a signal
    if os.read(order.alive_fd, 1) == STOPPED_PROPERLY:
        return 0
    count = sweep(order.marks, grace_seconds=GRACE_SECONDS)
    for file in order.files:
        Path(file).unlink(missing_ok=True)
    LockFile(Path(order.lock_path), order.lock_fd).release()
    print(f"prs up was killed; ended the {count} processes it had started", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
