"""Which server a command talks to, and with which token."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from prsweb.cli.failure import CommandFailed
from prsweb.paths import prsweb_home

_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Server:
    url: str  # without a slash at the end
    token: str


class NoServer(CommandFailed):
    """No address is given, and nothing runs on this machine."""

    def __init__(self, root: str) -> None:
        super().__init__(
            f"no server runs on {root}: start one with ./prs up, or name one with "
            "--server or PRSWEB_SERVER",
            code="unavailable",
        )


class BadToken(CommandFailed):
    """What is given cannot be a token, so it is not sent."""

    def __init__(self) -> None:
        super().__init__(
            "PRSWEB_TOKEN is no token: it holds a blank, a line break or a letter that no "
            "token has; ./prs token create makes one",
            code="sign_in",
        )


class NoToken(CommandFailed):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"no token for {url}: set PRSWEB_TOKEN (./prs token create makes one)",
            code="sign_in",
        )


def find_server(address: str | None) -> Server:
    """Return the server of ``--server``, else PRSWEB_SERVER, else the one of
    ``./prs up`` here. Raises NoServer, NoToken, BadToken."""
    from prsweb.cli.up.server_file import read_server_url

    home = prsweb_home()
    given = address or os.environ.get("PRSWEB_SERVER")
    local = read_server_url(home)
    url = given or local
    if url is None:
        raise NoServer(str(home.root))
    url = url.rstrip("/")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise CommandFailed(
            f"{url} is no address of a server: give http://NAME:PORT or https://"
        )
    token = os.environ.get("PRSWEB_TOKEN")
    # This machine's token is never sent to an address that somebody else chose.
    if not token and (url == (local or "").rstrip("/") or _is_here(url)):
        token = _local_token()
    if not token:
        raise NoToken(url)
    if not _TOKEN.fullmatch(token):
        raise BadToken
    return Server(url, token)


def _local_token() -> str | None:
    try:
        return prsweb_home().token.read_text().strip()
    except OSError:
        return None


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
