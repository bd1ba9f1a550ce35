"""Hold a lock together with the watcher that outlives us."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from prsweb.cli.up.home import Holder, LockFile
from prsweb.cli.up.leftovers import Marks, sweep
from prsweb.cli.up.watcher import STOPPED_PROPERLY, WatchOrder
from prsweb.paths import CHECKOUT
from runner.core.layout import Home

GOODBYE_SECONDS = 3.0


class Watch:
    """The watcher's process, the pipe to it, and what it would have to clean up."""

    def __init__(
        self,
        home: Home,
        lock: LockFile,
        *,
        node_names: Sequence[str],
        addresses: Sequence[str],
        files: Sequence[Path] = (),
    ) -> None:
        self.up_id = secrets.token_hex(8)
        self.marks = Marks(home, self.up_id, frozenset(node_names))
        self._watcher: subprocess.Popen[bytes] | None = None
        if left := lock.read():
            # Both the last holder and its watcher were killed.
            sweep(Marks(home, left.up_id, frozenset(left.node_names)))
        lock.write(Holder(os.getpid(), self.up_id, tuple(node_names), tuple(addresses)))
        self._read_end, self._write_end = os.pipe()
        self.order = WatchOrder(
            alive_fd=self._read_end,
            lock_fd=lock.descriptor,
            lock_path=str(lock.path),
            home=str(home.root),
            up_id=self.up_id,
            node_names=tuple(node_names),
            files=tuple(str(file) for file in files),
        )

    def start(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        with (self.marks.home.logs / "watcher.log").open("ab") as log:
            self._watcher = subprocess.Popen(
                [sys.executable, "-m", "prsweb.cli.up.watcher", self.order.to_json()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=CHECKOUT,
                pass_fds=(self.order.alive_fd, self.order.lock_fd),
                start_new_session=True,
            )

    def look(self) -> None:
        """Start the watcher again if it was killed."""
        if self._watcher is not None and self._watcher.poll() is not None:
            self.start(self._environment)

    def end(self) -> None:
        """End what the parts have left, then the watcher."""
        spare = frozenset({self._watcher.pid}) if self._watcher else frozenset()
        sweep(self.marks, spare=spare)
        with suppress(BrokenPipeError):
            os.write(self._write_end, STOPPED_PROPERLY)
        if self._watcher is not None:
            try:
                self._watcher.wait(GOODBYE_SECONDS)
            except subprocess.TimeoutExpired:
                self._watcher.kill()
                self._watcher.wait()
        os.close(self._read_end)
        os.close(self._write_end)
