"""``run/server.json``: how the commands on this machine find the server."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

from prsweb.cli.up.home import write_private
from runner.core.layout import Home


def write_server_file(home: Home, url: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    content = {"url": url, "pid": os.getpid(), "started_at": now}
    write_private(home.server_file, json.dumps(content) + "\n")


def read_server_url(home: Home) -> str | None:
    """Return the address of the server of this home; None when none runs."""
    try:
        return str(json.loads(home.server_file.read_text())["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
