"""``./prs test``: what it counts, says and answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from prsweb.cli import testing
from prsweb.cli.testing import CheckResult, LayerCounts, run_tests, summary_lines

MIXED = """
import pytest

def test_good(): pass
def test_bad(): assert False
@pytest.fixture
def broken(): raise OSError("no disk")
def test_without_its_fixture(broken): pass
@pytest.mark.skip(reason="needs a GPU")
def test_on_gpu(): pass
@pytest.mark.skip(reason="needs a GPU")
def test_on_two_gpus(): pass
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one good unit test, without checks."""
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text("def test_good(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:django\n")
    monkeypatch.setattr(testing, "CHECKOUT", tmp_path)
    monkeypatch.setattr(testing, "checks", dict)
    return tmp_path


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)


def test_a_good_layer_ends_with_its_counts_and_status_0(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run_tests(["unit"])

    assert status == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"


def test_one_failed_test_makes_status_1_and_every_skip_says_why(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "tests" / "unit" / "test_mixed.py").write_text(MIXED)

    status = run_tests(["unit"])

    said = capsys.readouterr().out.splitlines()
    assert status == 1
    assert said[-1] == "2 passed, 2 failed, 2 skipped"
    assert "unit: 2 skipped: needs a GPU" in said


def test_a_layer_without_tests_is_not_good_unless_arguments_chose_none(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen_none = run_tests(["unit", "--", "-k", "nothing_of_that_name"])
    (checkout / "tests" / "unit" / "test_one.py").unlink()
    empty = run_tests(["unit"])

    assert (chosen_none, empty) == (0, 1)
    assert "unit: no test ran" in capsys.readouterr().out


def test_a_layer_that_cannot_be_imported_is_bad(checkout: Path) -> None:
    (checkout / "tests" / "unit" / "test_one.py").write_text("import no_such_module\n")

    assert run_tests(["unit"]) == 1


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_a_missing_browser_is_said_and_fails_in_ci_only(
    ci: str,
    status: int,
    checkout: Path,
    no_browser: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CI", ci)

    answer = run_tests(["browser"])

    assert answer == status
    assert "browser: not run: no chromium on PATH" in capsys.readouterr().out


def test_an_unknown_layer_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = run_tests(["units"])

    assert status == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("prs test: no layer 'units'; there are: checks, unit, ")


def test_tests_meet_no_settings_of_a_running_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRSWEB_REDIS_URL", "redis://in-use/0")

    environment = testing.clean_environment(tmp_path)

    assert "PRSWEB_REDIS_URL" not in environment
    assert environment["PRSWEB_HOME"].startswith(str(tmp_path))


def test_a_bad_check_is_named_in_the_summary() -> None:
    lines = summary_lines(
        [CheckResult("mypy", False, 2.0), CheckResult("unit", True, 1.0, LayerCounts(3, 0, 0))]
    )

    assert any(line.startswith("mypy") and "BAD" in line for line in lines)
    assert lines[-1] == "3 passed, 0 failed, 0 skipped"
