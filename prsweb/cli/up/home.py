"""Make PRSWEB_HOME, and hold it: one ``prs up`` at a time."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from prsweb.cli.failure import CommandFailed
from runner.core.layout import Home

PRIVATE_MODE = 0o700
# Others may pass through to what belongs to them, and list nothing.
PASSAGE_MODE = 0o711
# A watcher that cleans up after a killed ``up`` holds the lock a little longer.
LOCK_WAIT_SECONDS = 20.0
POLL_SECONDS = 0.1
_KEY = re.compile(rb"[!-~]{16,}")


class HomeUnusable(CommandFailed):
    """PRSWEB_HOME cannot be made or written."""


class KeyDamaged(CommandFailed):
    """A file that holds a key of ours holds something else."""

    def __init__(self, path: Path, follows: str) -> None:
        super().__init__(
            f"{path} is damaged: it holds no key. Put a copy of it back, or remove it: "
            f"a new one is made, and {follows}.",
            code="unavailable",
        )


class HomeInUse(CommandFailed):
    """Another ``prs up`` runs on this PRSWEB_HOME."""

    def __init__(self, home: Home, holder: Holder | None) -> None:
        who = f"prs up, pid {holder.pid}" if holder else "another prs up"
        stop = f"kill {holder.pid}" if holder else "Ctrl-C where it runs"
        super().__init__(
            f"{home.root} is in use by {who}. Stop it ({stop}), or set PRSWEB_HOME "
            "to another folder.",
            code="conflict",
        )


@dataclass(frozen=True)
class Holder:
    """Who holds a home; written into the lock file."""

    pid: int
    up_id: str  # mark in the environment of every process it starts
    node_names: tuple[str, ...]
    addresses: tuple[str, ...]


def make_home(home: Home) -> None:
    """Make the folders and keys that are missing. Raises HomeUnusable, KeyDamaged."""
    try:
        _make_folder(home.root, PASSAGE_MODE)
        for folder in (home.private, home.run, home.logs, home.redis_data):
            _make_folder(folder, PRIVATE_MODE)
        for folder in (home.uploads, home.environments, home.jobs):
            folder.mkdir(parents=True, exist_ok=True)
        write_once(home.secret_key, secrets.token_urlsafe(50))
        write_once(home.data_key, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
        write_once(home.redis_password, secrets.token_urlsafe(32))
        check_key(home.secret_key, "everybody signs in anew")
        check_key(home.data_key, "what was encrypted with it is lost")
        check_key(home.redis_password, "nothing is lost")
    except OSError as error:
        raise home_unusable(home, error) from error


def home_unusable(home: Home, error: OSError) -> HomeUnusable:
    said = f"{error.strerror}: {error.filename}" if error.filename else str(error)
    return HomeUnusable(
        f"PRSWEB_HOME {home.root} cannot be used: {said}. "
        "Set PRSWEB_HOME to a folder that you may write."
    )


def check_key(path: Path, follows: str) -> None:
    """Raise KeyDamaged, with what would follow from a new one, unless it is a key."""
    if not _KEY.fullmatch(path.read_bytes().strip()):
        raise KeyDamaged(path, follows)


def write_once(path: Path, text: str) -> None:
    """Write a secret unless it exists."""
    if not path.exists():
        write_private(path, text)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads. It appears whole or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    new.replace(path)


def _make_folder(path: Path, mode: int) -> None:
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o777 != mode:
        path.chmod(mode)


class LockFile:
    """A lock that the kernel releases, however its holder ends.

    It belongs to the open file: a process that inherits ``descriptor`` keeps it.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Return the lock, or None while somebody else has it."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return None
            if _is_same_file(path, descriptor):
                return cls(path, descriptor)
            os.close(descriptor)  # its holder removed the file as we opened it

    def write(self, holder: Holder) -> None:
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(asdict(holder)).encode(), 0)

    def read(self) -> Holder | None:
        """Who held it last, when the file was left behind."""
        return read_holder(self.path)

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


def read_holder(path: Path) -> Holder | None:
    """Return who a lock file names; None when it says nothing."""
    try:
        content = json.loads(path.read_text())
        return Holder(
            int(content["pid"]),
            str(content["up_id"]),
            tuple(content["node_names"]),
            tuple(content["addresses"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def hold_home(home: Home) -> LockFile:
    """Return the lock of this home, or raise HomeInUse naming who holds it."""
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        lock = LockFile.take(home.up_lock)
        if lock is not None:
            return lock
        holder = read_holder(home.up_lock)
        # A holder that is gone was killed, and its watcher is about to let go.
        if holder is None or _exists(holder.pid) or time.monotonic() > deadline:
            raise HomeInUse(home, holder)
        time.sleep(POLL_SECONDS)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
