"""The Python environment of a job: an interpreter, or one built for its requirements.

A built environment is kept under a hash of what it was made from, made once per
machine under a lock, and never kept when the build failed.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.node.interpreter import find_interpreter
from runner.node.process_tree import signal_group

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1
PROBE_SECONDS = 30.0
LAST_LINES = 15  # of the build's output, in the reason
SAID_CHARACTERS = 500  # of what an interpreter said that are repeated
PROBE = "import platform, sys; print(sys.version, platform.platform(), *sys.version_info[:2])"
OLDEST = (3, 8)


class EnvironmentFailed(Exception):
    """The environment cannot be had. The message ends with the last lines of the build."""


class BuildStopped(Exception):
    """The job was stopped, or the node, while its environment was being built."""


@dataclass(frozen=True)
class Wanted:
    python: str | None  # path or version; None: the node's own
    requirements: tuple[str, ...]
    build_seconds: float


class Environments:
    def __init__(
        self,
        cache: Path,
        node_python: str,
        *,
        log: Path,
        marks: Mapping[str, str],
        is_stopped: Callable[[], bool],
    ) -> None:
        """``marks`` are set in the environment of the build, which ``is_stopped`` ends."""
        self._cache = cache
        self._node_python = node_python
        self._log = log
        self._marks = marks
        self._is_stopped = is_stopped

    def find_python(self, wanted: Wanted) -> str:
        """Return the interpreter of the job's processes, building its environment first
        where there is something to install.

        Raises NoInterpreter, EnvironmentFailed and BuildStopped.
        """
        python = find_interpreter(wanted.python, self._node_python)
        if wanted.python is None and not wanted.requirements:
            return python
        identity = self._probe(python)
        if not wanted.requirements:
            return python
        content = "\n".join([identity, *wanted.requirements])
        folder = self._cache / hashlib.sha256(content.encode()).hexdigest()[:24]
        built = folder / "bin" / "python"
        with self._locked(folder, wanted.build_seconds):
            if not (folder / "ready").exists():
                self._build(python, folder, wanted)
        return str(built)

    def _probe(self, python: str) -> str:
        """Return what tells this interpreter from others; it must be new enough."""
        try:
            said = subprocess.run(
                [python, "-I", "-c", PROBE],
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
                check=True,
            ).stdout.strip()
        except subprocess.TimeoutExpired:
            raise EnvironmentFailed(
                f"environment.python: {python} did not say its version in {PROBE_SECONDS:g} s"
            ) from None
        except subprocess.CalledProcessError as error:
            raise EnvironmentFailed(
                f"environment.python: {python} ended with exit code {error.returncode}: "
                f"{(error.stderr or error.stdout).strip()[-SAID_CHARACTERS:]}"
            ) from None
        except (OSError, UnicodeError) as error:
            raise EnvironmentFailed(f"environment.python: {python}: {error}") from None
        try:
            version = tuple(map(int, said.split()[-2:]))
            version[1]
        except (ValueError, IndexError):
            raise EnvironmentFailed(
                f"environment.python: {python} is no Python: asked for its version it said "
                f"{said[:SAID_CHARACTERS]!r}"
            ) from None
        if version < OLDEST:
            raise EnvironmentFailed(
                f"environment.python: {python} is {version[0]}.{version[1]}, "
                f"older than {OLDEST[0]}.{OLDEST[1]}"
            )
        return said

    @contextmanager
    def _locked(self, folder: Path, seconds: float) -> Iterator[None]:
        """Hold the lock of one environment; another node may be building it."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + seconds
        with folder.with_suffix(".lock").open("w") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    self._wait(deadline, "another build of the same environment")
            yield

    def _build(self, python: str, folder: Path, wanted: Wanted) -> None:
        started_at = time.monotonic()
        deadline = started_at + wanted.build_seconds
        shutil.rmtree(folder, ignore_errors=True)
        try:
            self._run([python, "-m", "venv", str(folder)], deadline)
            listed = folder / "requirements.txt"
            listed.write_text("\n".join(wanted.requirements) + "\n")
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input"]
            self._run([*pip, "--disable-pip-version-check", "-r", str(listed)], deadline)
            (folder / "ready").touch()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        logger.info("environment built in %.0f s", time.monotonic() - started_at)

    def _run(self, argv: Sequence[str], deadline: float) -> None:
        with self._log.open("ab") as log:
            log.write(f"$ {' '.join(argv)}\n".encode())
            log.flush()
            begun_at = log.tell()
            process = subprocess.Popen(
                argv,
                env=self._build_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            while process.poll() is None:
                self._wait(deadline, "building the environment")
        finally:
            signal_group(process.pid, 9)
            process.wait()
        if process.returncode != 0:
            raise EnvironmentFailed(
                f"building the environment failed:\n{self._last_lines(begun_at)}"
            )

    def _wait(self, deadline: float, what: str) -> None:
        if self._is_stopped():
            raise BuildStopped
        if time.monotonic() >= deadline:
            raise EnvironmentFailed(f"{what} took longer than environment.build_timeout")
        time.sleep(POLL_SECONDS)

    def _build_environment(self) -> dict[str, str]:
        """The node's own, for pip's settings and proxies, without what is ours alone."""
        own = {
            name: value for name, value in os.environ.items() if not name.startswith("PRSWEB_")
        }
        return {**own, **self._marks, "PYTHONNOUSERSITE": "1"}

    def _last_lines(self, begun_at: int) -> str:
        with suppress(OSError), self._log.open("rb") as log:
            log.seek(begun_at)
            lines = log.read().decode("utf-8", "replace").splitlines()
            return "\n".join(lines[-LAST_LINES:])
        return ""
