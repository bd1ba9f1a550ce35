"""A Redis server that is not ours, as PRSWEB_REDIS_URL names it."""

from __future__ import annotations

from urllib.parse import urlsplit

from prsweb.cli.failure import CommandFailed

CONNECT_SECONDS = 5.0


class RedisUnusable(CommandFailed):
    """PRSWEB_REDIS_URL leads to no server that takes our commands."""

    def __init__(self, url: str, said: str) -> None:
        super().__init__(
            f"PRSWEB_REDIS_URL {_without_password(url)} cannot be used: {said}. Give "
            "redis://HOST:PORT/0 of a running server, or unset it for a private one.",
            code="unavailable",
        )


def check_redis(url: str) -> None:
    """Raise RedisUnusable unless a server answers at ``url``."""
    import redis  # slow to import, and needed for a server that is not ours only

    try:
        with redis.Redis.from_url(
            url, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=CONNECT_SECONDS
        ) as client:
            client.ping()
    except (redis.RedisError, ValueError, OSError) as error:
        raise RedisUnusable(url, str(error).rstrip(".")) from error


def _without_password(url: str) -> str:
    try:
        password = urlsplit(url).password
    except ValueError:
        return "***"
    return url.replace(password, "***") if password else url
