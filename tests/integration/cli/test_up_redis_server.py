"""The private Redis server, for real."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
import redis

from prsweb.cli.up.home import make_home
from prsweb.cli.up.leftovers import UP_MARK
from prsweb.cli.up.part import Part, StopStage
from prsweb.cli.up.redis_server import (
    NoRedisServer,
    RedisServer,
    find_server_binary,
    running_redis_url,
    set_up_redis,
)
from prsweb.cli.up.supervisor import Supervisor
from runner.core.layout import Home


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    made = Supervisor(print)
    yield made
    made.stop(hurry=Event())


@pytest.fixture
def start(up_id: str, wait_until: Any) -> Callable[[RedisServer, Home, Supervisor], None]:
    def start_server(server: RedisServer, home: Home, supervisor: Supervisor) -> None:
        environment = {**os.environ, "PRSWEB_HOME": str(home.root), UP_MARK: up_id}
        log = home.logs / "redis.log"
        supervisor.start(Part("redis", server.argv, environment, log, StopStage.REDIS, 5.0))
        wait_until(server.answers, what="Redis answers")

    return start_server


def test_it_listens_on_a_closed_socket_alone_and_wants_the_password(
    place: Home, supervisor: Supervisor, up_id: str, start: Any
) -> None:
    make_home(place)
    server = set_up_redis(place)
    start(server, place, supervisor)

    [process] = [one for one in psutil.process_iter() if _is_server(one, up_id)]
    assert stat.S_IMODE(server.socket.stat().st_mode) == 0o600
    assert process.net_connections("tcp") == []
    assert server.password not in " ".join(process.cmdline())
    assert process.environ()["PRSWEB_HOME"] == str(place.root)
    with (
        pytest.raises(redis.AuthenticationError),
        redis.Redis(unix_socket_path=str(server.socket)) as stranger,
    ):
        stranger.ping()
    assert running_redis_url(place) == server.url
    with redis.Redis.from_url(server.url) as friend:
        assert friend.ping()


def test_what_it_held_is_there_after_a_restart(
    place: Home, supervisor: Supervisor, up_id: str, start: Any
) -> None:
    make_home(place)
    server = set_up_redis(place)
    start(server, place, supervisor)
    with redis.Redis.from_url(server.url) as client:
        client.set("key", "value")
    supervisor.stop(hurry=Event())

    again = Supervisor(print)
    start(set_up_redis(place), place, again)
    with redis.Redis.from_url(server.url) as client:
        held = client.get("key")
    again.stop(hurry=Event())
    server.remove_socket()

    assert held == b"value"
    assert not server.socket.exists()


def test_a_home_with_a_long_path_works_and_leaves_no_folder(tmp_path: Path, start: Any) -> None:
    home = Home(tmp_path / ("x" * 100))
    make_home(home)
    server = set_up_redis(home)
    supervisor = Supervisor(print)
    start(server, home, supervisor)

    folder = server.socket.parent
    assert folder != home.run
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    supervisor.stop(hurry=Event())
    server.remove_socket()
    assert not folder.exists()


def test_no_server_program_is_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(NoRedisServer, match=r"is version 6.*Install valkey-server"):
        find_server_binary()


def _is_server(process: psutil.Process, up_id: str) -> bool:
    try:
        return process.environ().get(UP_MARK) == up_id and "server" in process.name()
    except psutil.Error:
        return False
