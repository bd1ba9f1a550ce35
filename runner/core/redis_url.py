"""One Redis address in the two spellings that our libraries read."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit


def socket_url(path: str, password: str) -> str:
    """Return the URL of a server on a Unix socket, as redis-py reads it."""
    return f"unix://:{quote(password, safe='')}@{path}?db=0"


def broker_url(redis_url: str) -> str:
    """Return ``redis_url`` as Celery's transport spells it.

    Only a socket differs: ``unix://:PASSWORD@/path?db=0`` is
    ``redis+socket://:PASSWORD@/path?virtual_host=0`` there.
    """
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    password = quote(unquote(parts.password or ""), safe="")
    return f"redis+socket://:{password}@{parts.path}?virtual_host=0"
