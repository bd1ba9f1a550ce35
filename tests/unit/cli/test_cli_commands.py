"""Every command ends with the status and the words of its contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from prsweb.cli.commands.bench import names
from prsweb.cli.failure import NOTHING_DONE
from prsweb.cli.main import COMMANDS, main, prs
from prsweb.paths import CHECKOUT

DOCS = CHECKOUT / "docs"


@pytest.fixture(autouse=True)
def no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs on this PRSWEB_HOME."""
    monkeypatch.setenv("PRSWEB_HOME", str(tmp_path / "home"))
    for name in ("PRSWEB_SERVER", "PRSWEB_TOKEN", "PRSWEB_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jbos"], "prs: no such command: jbos; did you mean jobs?"),
        (["xyzzy"], "prs: no such command: xyzzy; ./prs --help lists them"),
        (["jobs", "--foo"], "No such option '--foo'; prs jobs --help lists the options"),
        (["show"], "Missing argument 'JOB'"),
        (["jobs"], "no server runs on"),
        (["submit", "/nowhere.yml"], "/nowhere.yml: No such file or directory"),
        (["up", "--nodes", "2001"], "one machine has addresses for 2000 nodes"),
        (["up", "--nodes", "0"], "'--nodes': 0 is not in the range"),
        (["up", "--host", "no.such.host.invalid"], "no such address"),
        (["demo", "--nodes", "1"], "give --nodes 2 or more"),
        (["node", "--name", "n 1"], "must be letters, digits"),
        (["node", "--name", "n9"], "no system runs on"),
        (["bench", "dispach"], "did you mean dispatch?"),
        (["bench"], "bench needs the NAME of a benchmark: dispatch"),
        (["nodes", "drain"], "nodes drain needs the NAME of a node"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(arguments)

    said = capsys.readouterr()
    assert status == NOTHING_DONE
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""


@pytest.mark.parametrize(
    "arguments", [["jobs"], ["show", "9f1c"], ["jobs", "--foo"], ["key", "create"]]
)
def test_with_json_the_refusal_is_the_error_object_on_standard_output(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([*arguments, "--json"])

    said = capsys.readouterr()
    assert status == NOTHING_DONE
    assert set(json.loads(said.out)["error"]) == {"code", "message", "problems"}
    assert said.err == ""


def test_a_port_that_is_taken_is_said_with_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        status = main(["up", "--port", str(port)])

    assert status == NOTHING_DONE
    assert f"port {port} of 127.0.0.1 cannot be used" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "--server", "nonsense"]) == NOTHING_DONE
    assert "is no address of a server" in capsys.readouterr().err


def test_the_token_of_this_machine_is_not_sent_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "home" / "private" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("secret")

    assert main(["jobs", "--server", "http://prs.example:8000"]) == NOTHING_DONE
    assert "no token for http://prs.example:8000" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["a\nb", "a b", "tökn", "\udcff"], ids=ascii)
def test_a_token_that_is_none_is_not_sent(
    token: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRSWEB_TOKEN", token)

    assert main(["jobs", "--server", "http://127.0.0.1:9"]) == NOTHING_DONE
    assert "PRSWEB_TOKEN is no token" in capsys.readouterr().err


def test_a_link_that_leads_to_itself_is_no_job_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRSWEB_TOKEN", "t")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert main(["submit", str(tmp_path / "loop"), "--server", "http://[::1]:9"]) == 2
    assert "Too many levels of symbolic links" in capsys.readouterr().err


def test_a_server_that_is_down_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRSWEB_TOKEN", "t")

    assert main(["jobs", "--server", "http://127.0.0.1:9"]) == NOTHING_DONE
    assert "start it with ./prs up" in capsys.readouterr().err


def test_a_simple_command_loads_neither_django_nor_pydantic() -> None:
    code = (
        "import sys; from prsweb.cli.main import main; main(['jobs']);"
        "print(*sys.modules, sep='\\n')"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"django", "pydantic", "celery", "redis", "psutil"} & set(loaded)


def test_every_command_stands_in_the_docs_and_the_docs_name_no_other() -> None:
    text = (DOCS / "commands.md").read_text()
    documented = set(re.findall(r"^\| `([a-z-]+)", text, re.MULTILINE))

    assert documented == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_stands_in_the_row_of_its_command(name: str) -> None:
    text = (DOCS / "commands.md").read_text()
    rows = "\n".join(re.findall(rf"^\| `{name}[ `].*$", text, re.MULTILINE))
    if name == "demo":  # the row says that it takes those of up
        rows += "\n".join(re.findall(r"^\| `up[ `].*$", text, re.MULTILINE))
    command = prs.get_command(click.Context(prs), name)
    assert command is not None

    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    options = {
        option
        for one in commands
        for parameter in one.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    } - {"--json", "--server"}  # said once, for all

    assert {option for option in options if f"`{option}" not in rows} == set()


def test_the_docs_name_no_option_that_does_not_exist() -> None:
    text = (DOCS / "commands.md").read_text()
    known = {"--help", "--"}
    for name in COMMANDS:
        command = prs.get_command(click.Context(prs), name)
        group = command.commands.values() if isinstance(command, click.Group) else [command]
        known |= {option for one in group for item in one.params for option in item.opts}

    assert set(re.findall(r"`(--[a-z-]+)", text)) <= known


def test_a_benchmark_is_a_file_that_can_be_run() -> None:
    assert "dispatch" in names()
    assert "running_system" not in names()


def test_what_stands_behind_test_is_handed_on_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(
        "prsweb.cli.testing.run_tests", lambda arguments: given.append(list(arguments)) or 0
    )

    assert main(["test", "unit", "--", "-k", "wire", "--json"]) == 0
    assert given == [["unit", "--", "-k", "wire", "--json"]]
