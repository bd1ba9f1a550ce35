"""``./prs``: what it sets up, when it does so again, and what it says when it cannot."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND_LINE = """
import os, sys
print(sys.argv[1:], os.getcwd(), sys.prefix, "click" in sys.modules)
"""
UNAVAILABLE = "no-such-package-of-ours==1.0 --hash=sha256:" + "0" * 64 + "\n"


@dataclass(frozen=True)
class Ended:
    """How one start of the launcher ended."""

    status: int
    output: str
    said: str  # on standard error


class Checkout:
    """A checkout with the real launcher, and requirements that need no network."""

    said_first = ""  # by the start that made .venv

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / ".venv"
        (folder / "prsweb" / "cli").mkdir(parents=True)
        shutil.copy(ROOT / "prs", folder)
        (folder / "prsweb" / "cli" / "__main__.py").write_text(COMMAND_LINE)
        self.require("# nothing\n")

    def require(self, text: str) -> None:
        (self.folder / "requirements.txt").write_text(text)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.folder / "prs"), *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        empty = self.folder / "empty home"
        empty.mkdir(exist_ok=True)
        pip = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        return {"PATH": os.environ["PATH"], "HOME": str(empty)} | pip | more

    def start(self, *arguments: str, cwd: Path | None = None, **environment: str) -> Ended:
        done = subprocess.run(
            self.command(*arguments),
            cwd=cwd or self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def made_checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout, in a path with spaces, whose .venv has been made."""
    checkout = Checkout(tmp_path_factory.mktemp("a checkout with spaces"))
    checkout.said_first = checkout.start("jobs").said
    return checkout


@pytest.fixture
def new_checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_start_says_what_it_does_and_the_second_is_silent(
    made_checkout: Checkout,
) -> None:
    again = made_checkout.start("jobs", "--json")

    assert "setting up" in made_checkout.said_first
    assert "ready after" in made_checkout.said_first
    assert (again.status, again.said) == (0, "")
    assert again.output.startswith("['jobs', '--json']")
    assert str(made_checkout.venv) in again.output


def test_it_works_from_any_folder_and_takes_no_module_from_there(
    made_checkout: Checkout, tmp_path: Path
) -> None:
    (tmp_path / "prsweb").mkdir()
    (tmp_path / "prsweb" / "__init__.py").write_text("raise SystemExit('the wrong prsweb')")

    ended = made_checkout.start("jobs", cwd=tmp_path)

    assert ended.status == 0, ended.said
    assert str(tmp_path) in ended.output


def test_changed_requirements_are_installed_and_unchanged_ones_are_not(
    made_checkout: Checkout,
) -> None:
    made_checkout.require("# nothing, but said in other words\n")

    changed = made_checkout.start("jobs")
    unchanged = made_checkout.start("jobs")

    assert "installing requirements.txt" in changed.said
    assert unchanged.said == ""


def test_a_half_made_environment_is_made_anew(made_checkout: Checkout) -> None:
    (made_checkout.venv / "prs-unfinished").touch()
    leftover = made_checkout.venv / "half a package"
    leftover.touch()

    ended = made_checkout.start("jobs")

    assert ended.status == 0
    assert "setting up" in ended.said
    assert not leftover.exists()


def test_of_two_first_starts_one_installs_and_both_go_on(new_checkout: Checkout) -> None:
    starts = [
        subprocess.Popen(
            new_checkout.command("jobs"),
            env=new_checkout.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]

    said = [start.communicate(timeout=120)[1] for start in starts]

    assert [start.returncode for start in starts] == [0, 0]
    assert sum("ready after" in text for text in said) == 1


def test_what_cannot_be_installed_is_one_line_and_tried_again_at_the_next_start(
    made_checkout: Checkout,
) -> None:
    made_checkout.require(UNAVAILABLE)
    failed = made_checkout.start("jobs")
    made_checkout.require("# nothing again\n")

    mended = made_checkout.start("jobs")

    assert failed.status == 2
    assert failed.output == ""
    last = failed.said.splitlines()[-1]
    assert last.startswith("prs: could not install requirements.txt: ERROR:")
    assert "no-such-package-of-ours" in last
    assert "Traceback" not in failed.said
    assert mended.status == 0


def test_without_a_network_the_line_says_so(made_checkout: Checkout) -> None:
    made_checkout.require(UNAVAILABLE)

    ended = made_checkout.start(
        "jobs", PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="1"
    )
    made_checkout.require("# nothing\n")

    assert ended.status == 2
    assert "no package index can be reached" in ended.said.splitlines()[-1]


def test_a_folder_that_prs_did_not_make_is_refused_and_left_alone(
    new_checkout: Checkout, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("ten years")

    ended = new_checkout.start("jobs", PRSWEB_VENV=str(mine))

    assert ended.status == 2
    assert "was not made by prs" in ended.said.splitlines()[-1]
    assert (mine / "thesis.txt").read_text() == "ten years"


def test_the_environment_may_stand_elsewhere(new_checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "some" / "where else"

    ended = new_checkout.start("jobs", PRSWEB_VENV=str(elsewhere))

    assert str(elsewhere) in ended.output
    assert not new_checkout.venv.exists()


def test_an_old_python_gets_one_line_and_status_2() -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 10, 2, 'final', 0);"
        f"runpy.run_path({str(ROOT / 'prs')!r}, run_name='__main__')"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    advice = f"start it as python3.11 {ROOT / 'prs'}"
    assert done.stderr == f"prs: needs Python 3.11 or newer, this is 3.10; {advice}\n"


def test_an_old_python_can_read_the_launcher() -> None:
    tree = ast.parse((ROOT / "prs").read_text(), feature_version=(3, 7))

    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert imported <= sys.stdlib_module_names
