"""The web part: uvicorn on the socket that the supervisor listens on.

python -m prsweb.cli.up.web DESCRIPTOR
"""

from __future__ import annotations

import socket
import sys

import uvicorn

# Event streams stay open as long as their page; they are not waited for.
STOP_SECONDS = 2


def main(arguments: list[str]) -> None:
    listener = socket.socket(fileno=int(arguments[0]))
    config = uvicorn.Config(
        "prsweb.asgi:application",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1:])
