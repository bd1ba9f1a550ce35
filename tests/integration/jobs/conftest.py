"""A Redis of the test's own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from prsweb.cli.up.redis_server import find_server_binary


@pytest.fixture
def redis_server(settings: Any, wait_until: Callable[..., None]) -> Iterator[redis.Redis]:
    """A real server on a socket; the selectors read from it."""
    with tempfile.TemporaryDirectory(prefix="prs-test-") as folder:
        socket = Path(folder) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder]
        server = subprocess.Popen(
            [str(find_server_binary()), *options],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        settings.PRSWEB_REDIS_URL = f"unix://{socket}?db=0"
        client = redis.Redis.from_url(settings.PRSWEB_REDIS_URL)
        try:
            wait_until(lambda: _answers(client), what="an answer of Redis")
            yield client
        finally:
            client.close()
            server.kill()
            server.wait(10)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
