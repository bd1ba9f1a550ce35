"""The address that the server listens on."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

from prsweb.cli.failure import CommandFailed

BACKLOG = 512


class CannotListen(CommandFailed):
    """The port is taken, or the address is none of this machine."""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises CannotListen.

    The supervisor holds it, so that the port stays ours while web starts again.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise CannotListen(f"--host {host}: no such address ({error})") from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotListen(_why_not(host, port, error), code="conflict") from error
    return listener


def _why_not(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"port {port} needs more rights; choose one above 1023 with --port"
    return (
        f"port {port} of {host} cannot be used ({error.strerror}); choose another with "
        "--port, or --port 0 for a free one"
    )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def local_url(listener: socket.socket, host: str) -> str:
    """Return the address by which this machine reaches the server."""
    port = listener.getsockname()[1]
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def allowed_hosts(host: str) -> list[str]:
    """Return the host names that a request may name, beside localhost."""
    if host in ("", "0.0.0.0", "::"):
        return [socket.gethostname()]
    return [f"[{host}]" if ":" in host else host]


def node_address(number: int) -> str:
    """Return the address of node 1, 2 … of a machine: 127.0.1.1 to .254, then
    127.0.2.1 and so on."""
    block, last = divmod(number - 1, 254)
    return f"127.0.{block + 1}.{last + 1}"
