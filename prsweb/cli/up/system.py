"""One whole system on one machine: start it, keep it up, leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from prsweb.cli.console import say
from prsweb.cli.failure import DONE
from prsweb.cli.up.address import is_loopback, listen, local_url, node_address
from prsweb.cli.up.foreign_redis import check_redis
from prsweb.cli.up.home import LockFile, hold_home, home_unusable, make_home
from prsweb.cli.up.options import UpOptions
from prsweb.cli.up.parts import PartMaker, base_environment, server_environment
from prsweb.cli.up.preparation import Preparation
from prsweb.cli.up.readiness import ReadinessWatch
from prsweb.cli.up.redis_server import RedisServer, set_up_redis, socket_path
from prsweb.cli.up.server_file import write_server_file
from prsweb.cli.up.signals import StopRequest
from prsweb.cli.up.supervisor import Supervisor
from prsweb.cli.up.watch import Watch
from runner.core.layout import Home

POLL_SECONDS = 0.1
STARTING_POLL_SECONDS = 0.02


class System:
    """``run`` returns when a signal, a companion or a failing part ends it."""

    def __init__(
        self,
        home: Home,
        options: UpOptions,
        *,
        announce: Callable[[str], None] = say,
        companion: Callable[[str, StopRequest], None] | None = None,
    ) -> None:
        options.check()
        self.home = home
        self.options = options
        self.request = StopRequest()
        self._announce_line = announce
        self._has_said_missing = False
        self._companion = companion  # runs in a thread of its own once all is ready

    def run(self) -> int:
        """Return the exit status. Raises CommandFailed when it cannot start or go on."""
        make_home(self.home)
        try:
            return self._run_in_home()
        except OSError as error:  # a folder in the way of a file of ours, a full disk
            if not str(error.filename).startswith(str(self.home.root)):
                raise
            raise home_unusable(self.home, error) from error

    def _run_in_home(self) -> int:
        lock = hold_home(self.home)
        try:
            # Ends what a killed system has left: its web part would hold the port.
            self._watch = self._make_watch(lock)
            with listen(self.options.host, self.options.port) as listener:
                self._listener = listener
                self.url = local_url(listener, self.options.host)
                return self._run_held()
        finally:
            lock.release()

    def _run_held(self) -> int:
        self._redis = self._own_redis()
        self._maker = PartMaker(self.home, self._environment())
        self._supervisor = Supervisor(say)
        self._preparation: Preparation | None = None
        self._readiness: ReadinessWatch | None = None
        self._has_nodes = False
        self.request.listen()
        try:
            self._start()
            self._keep_up()
            return DONE
        finally:
            self._end()

    def _own_redis(self) -> RedisServer | None:
        """None: PRSWEB_REDIS_URL names a server that is not ours."""
        if url := os.environ.get("PRSWEB_REDIS_URL"):
            check_redis(url)
            return None
        return set_up_redis(self.home)

    def _make_watch(self, lock: LockFile) -> Watch:
        numbers = range(1, self.options.nodes + 1)
        return Watch(
            self.home,
            lock,
            node_names=[f"n{number}" for number in numbers],
            addresses=[node_address(number) for number in numbers],
            files=(self.home.server_file, socket_path(self.home)),
        )

    def _environment(self) -> dict[str, str]:
        redis_url = self._redis.url if self._redis else os.environ["PRSWEB_REDIS_URL"]
        return base_environment(
            self.home, redis_url=redis_url, up_id=self._watch.up_id
        ) | server_environment(self.options, self.url)

    def _start(self) -> None:
        self._watch.start(self._maker.environment)
        if self._redis is not None:
            self._supervisor.start(self._maker.redis(self._redis))
        self._preparation = Preparation(self._maker.prepare())

    def _keep_up(self) -> None:
        steps = [
            self._start_nodes,
            self._start_server,
            self._announce_address,
            self._announce_ready,
        ]
        poll_seconds = STARTING_POLL_SECONDS
        while not self.request.stop.wait(poll_seconds):
            self._supervisor.look()
            self._watch.look()
            if steps and steps[0]():
                steps.pop(0)
            if not steps:
                poll_seconds = POLL_SECONDS

    def _start_nodes(self) -> bool:
        """As soon as Redis takes commands, while the database is made ready."""
        if self._redis is not None and not self._redis.answers():
            return False
        for part in self._maker.nodes(self.options):
            self._supervisor.start(part)
        return True

    def _start_server(self) -> bool:
        """Once the database is ready."""
        assert self._preparation is not None
        sign_in_path = self._preparation.sign_in_path()
        if sign_in_path is None:
            return False
        self._sign_in_url = self.url.rstrip("/") + sign_in_path
        write_server_file(self.home, self.url)
        self._supervisor.start(self._maker.web(self._listener))
        self._supervisor.start(self._maker.orchestrator())
        self._readiness = ReadinessWatch(self.url, self.request.stop)
        return True

    def _announce_address(self) -> bool:
        assert self._readiness is not None
        if not self._readiness.is_serving.is_set():
            return False
        self._announce(f"prsweb runs at {self.url}")
        self._announce(f"Sign in by this link, once, within 10 minutes: {self._sign_in_url}")
        if is_loopback(self.options.host) and os.getuid() == 0:
            say("Jobs run as root, who started this.")
        return True

    def _announce(self, text: str) -> None:
        with suppress(OSError):  # nobody reads it any more; the system goes on
            self._announce_line(text)

    def _announce_ready(self) -> bool:
        assert self._readiness is not None
        if not self._readiness.is_ready.is_set():
            self._say_what_is_missing(self._readiness)
            return False
        nodes = "1 node is" if self.options.nodes == 1 else f"{self.options.nodes} nodes are"
        self._announce(f"{nodes} ready. Ctrl-C stops everything.")
        if self._companion is not None:
            arguments = (self.url, self.request)
            Thread(target=self._companion, args=arguments, daemon=True).start()
        return True

    def _say_what_is_missing(self, readiness: ReadinessWatch) -> None:
        if not self._has_said_missing and (missing := readiness.missing_for_long()):
            self._has_said_missing = True
            say(f"not ready yet: {missing}; the logs lie in {self.home.logs}")

    def _end(self) -> None:
        """Stop every part, then whatever they left; remove socket and server.json."""
        if self.request.first_signal is not None:
            name = signal.Signals(self.request.first_signal).name
            say(f"{name}: stopping everything; Ctrl-C again to stop at once")
        self.request.stop.set()
        if self._preparation is not None:
            self._preparation.stop()
        for name in self._supervisor.stop(hurry=self.request.hurry):
            say(f"{name} outlived SIGKILL; it waits in the system, for a disk perhaps")
        with suppress(OSError):  # a folder in its place; the watcher must end all the same
            self.home.server_file.unlink()
        if self._redis is not None:
            with suppress(OSError):
                self._redis.remove_socket()
        self._watch.end()
