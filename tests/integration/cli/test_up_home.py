"""PRSWEB_HOME: who may read it, and who holds it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from prsweb.cli.failure import CommandFailed
from prsweb.cli.up import home as home_module
from prsweb.cli.up.home import (
    Holder,
    HomeInUse,
    HomeUnusable,
    KeyDamaged,
    LockFile,
    hold_home,
    make_home,
)
from prsweb.cli.up.options import UpOptions
from prsweb.cli.up.preparation import PreparationFailed
from prsweb.cli.up.redis_server import socket_path
from prsweb.cli.up.system import System
from prsweb.paths import CHECKOUT
from runner.core.layout import SOCKET_PATH_LIMIT_BYTES, Home

HOLDS_AND_WAITS = """
import sys
from pathlib import Path
from prsweb.cli.up.home import Holder, hold_home
from runner.core.layout import Home
import os
lock = hold_home(Home(Path(sys.argv[1])))
lock.write(Holder(os.getpid(), "id", ("n1",), ("127.0.1.1",)))
print("held", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_and_keys_are_closed_to_others(place: Home) -> None:
    make_home(place)

    assert mode(place.root) == 0o711
    assert [mode(folder) for folder in (place.private, place.run, place.logs)] == [0o700] * 3
    keys = (place.secret_key, place.data_key, place.redis_password)
    assert [mode(key) for key in keys] == [0o600] * 3
    assert place.jobs.is_dir() and place.uploads.is_dir() and place.environments.is_dir()


def test_a_home_that_exists_keeps_its_keys_and_loses_its_open_modes(place: Home) -> None:
    make_home(place)
    key = place.secret_key.read_text()
    place.private.chmod(0o755)

    make_home(place)

    assert place.secret_key.read_text() == key
    assert mode(place.private) == 0o700


def test_a_home_that_cannot_be_made_says_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(HomeUnusable, match="Set PRSWEB_HOME to a folder"):
        make_home(Home(tmp_path / "file" / "home"))


@pytest.mark.parametrize("content", [b"", b"two words, no key at all", b"\xff" * 40, b"short"])
@pytest.mark.parametrize("name", ["secret_key", "data_key", "redis_password"])
def test_a_damaged_key_is_named_with_what_to_do(place: Home, name: str, content: bytes) -> None:
    make_home(place)
    key: Path = getattr(place, name)
    key.write_bytes(content)

    with pytest.raises(KeyDamaged, match=f"{key} is damaged.* remove it"):
        make_home(place)


@pytest.mark.parametrize("name", ["up.lock", "server.json", "redis.sock"])
def test_a_folder_in_the_way_of_our_files_is_named(place: Home, name: str) -> None:
    make_home(place)
    (place.run / name).mkdir()

    with pytest.raises(CommandFailed, match=name):
        System(place, UpOptions(nodes=1, port=0)).run()


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_damaged_database_is_one_line_without_a_traceback(
    place: Home, content: bytes
) -> None:
    make_home(place)
    place.database.write_bytes(content)

    with pytest.raises(PreparationFailed) as failed:
        System(place, UpOptions(nodes=1, port=0)).run()

    assert failed.value.message.startswith(f"the database {place.database} cannot be used: ")
    assert "\n" not in failed.value.message
    assert "Traceback" in (place.logs / "prepare.log").read_text()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("PRSWEB_MAX_NODES_PER_JOB", "many", "must be a whole number (found: many)"),
        ("PRSWEB_DATABASE_URL", "nonsense", "must begin with postgresql://"),
        ("PRSWEB_REDIS_URL", "nonsense", "PRSWEB_REDIS_URL nonsense cannot be used"),
        ("PRSWEB_REDIS_URL", "redis://:secret@127.0.0.1:9/0", "redis://:***@127.0.0.1:9/0"),
    ],
)
def test_a_wrong_setting_is_one_line(
    place: Home, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str
) -> None:
    monkeypatch.setenv(name, text)

    with pytest.raises(CommandFailed) as failed:
        System(place, UpOptions(nodes=1, port=0)).run()

    assert said in failed.value.message
    assert "secret" not in failed.value.message


def test_the_second_holder_is_told_who_the_first_is(place: Home) -> None:
    make_home(place)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_AND_WAITS, str(place.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=CHECKOUT,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"

        with pytest.raises(HomeInUse, match=f"pid {first.pid}") as refused:
            hold_home(place)

        assert refused.value.code == "conflict"
        first.kill()


def test_the_lock_of_a_killed_holder_is_free_and_says_who_it_was(place: Home) -> None:
    make_home(place)
    holder = Holder(os.getpid(), "left", ("n1", "n2"), ("127.0.1.1", "127.0.1.2"))
    lock = hold_home(place)
    lock.write(holder)
    os.close(lock.descriptor)  # as the kernel does when a process ends

    again = hold_home(place)

    assert again.read() == holder
    again.release()
    assert not place.up_lock.exists()


def test_a_new_start_waits_for_the_watcher_of_a_killed_one(
    place: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_home(place)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock = hold_home(place)
    lock.write(Holder(ended.pid, "left", (), ()))
    monkeypatch.setattr(home_module, "LOCK_WAIT_SECONDS", 0.3)

    with pytest.raises(HomeInUse):
        hold_home(place)
    lock.release()
    taken = hold_home(place)

    assert isinstance(taken, LockFile)
    taken.release()


def test_a_socket_path_that_is_too_long_moves_to_the_temporary_folder(tmp_path: Path) -> None:
    short, long = Home(Path("/short/home")), Home(tmp_path / ("x" * 120))

    assert socket_path(short) == short.run / "redis.sock"
    moved = socket_path(long)
    assert len(os.fsencode(moved)) <= SOCKET_PATH_LIMIT_BYTES
    assert moved.parent.name.startswith("prsweb-")
    assert moved == socket_path(long)
