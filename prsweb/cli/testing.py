"""The whole suite behind ``./prs test``: checks, then one layer of tests after another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

CHECKOUT = Path(__file__).resolve().parents[2]
CHECKS = "checks"
LAYERS = ("unit", "integration", "acceptance", "browser")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_TESTS_COLLECTED = 5  # pytest's exit status
USAGE = f"""usage: ./prs test [LAYER ...] [-- PYTEST ARGUMENTS]

Runs the checks, then the tests, and sums up. Layers: {", ".join((CHECKS, *LAYERS))};
none named means all. What stands behind -- goes to pytest: ./prs test unit -- -k partition"""


@dataclass(frozen=True)
class LayerCounts:
    """What became of the tests of one layer, or of several."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: LayerCounts) -> LayerCounts:
        return LayerCounts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class CheckResult:
    """What one check, or one layer of tests, came to."""

    name: str
    is_good: bool
    seconds: float
    counts: LayerCounts | None = None  # of a layer
    notes: tuple[str, ...] = ()  # what was not run, and why


def run_tests(arguments: Sequence[str]) -> int:
    """Run what ``arguments`` name, print a summary, and return the exit status.

    0 only if everything that was asked for is good, 1 if something is not, 2 if
    a name is unknown. The last line printed is ``N passed, N failed, N skipped``.
    """
    names, pytest_arguments = split_arguments(arguments)
    if {"-h", "--help"} & set(names):
        print(USAGE)
        return 0
    unknown = [name for name in names if name not in (CHECKS, *LAYERS)]
    if unknown:
        known = ", ".join((CHECKS, *LAYERS))
        print(f"prs test: no layer {unknown[0]!r}; there are: {known}", file=sys.stderr)
        return 2
    # Tests meet neither the settings nor the home of a system that runs on this machine.
    with tempfile.TemporaryDirectory(prefix="prs-test-") as scratch:
        environment = clean_environment(Path(scratch))
        results = []
        if not names or CHECKS in names:
            results += [
                run_check(name, command, environment) for name, command in checks().items()
            ]
        for layer in LAYERS:
            if not names or layer in names:
                results.append(run_layer(layer, pytest_arguments, environment))
    print("\n".join(summary_lines(results)), flush=True)
    return 0 if all(result.is_good for result in results) else 1


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the layers, and what stands behind ``--``."""
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    return given[:end], given[end + 1 :]


def clean_environment(scratch: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRSWEB_")}
    return kept | {
        "DJANGO_SETTINGS_MODULE": "prsweb.settings",
        "PRSWEB_HOME": str(scratch / "home"),
    }


def checks() -> dict[str, list[str]]:
    """Return the command of each check that is not a test."""
    tools = Path(sys.executable).parent
    return {
        "ruff": [str(tools / "ruff"), "check", "."],
        "format": [str(tools / "ruff"), "format", "--check", "."],
        "mypy": [sys.executable, "-m", "mypy"],
        "imports": [str(tools / "lint-imports"), "--no-cache"],
        "migrations": [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"],
    }


def run_check(name: str, command: list[str], environment: Mapping[str, str]) -> CheckResult:
    """Run one check. What it says is shown only if it finds something."""
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - started
    is_good = done.returncode == 0
    print(f"{name:12} {'good' if is_good else 'BAD'}", flush=True)
    if not is_good:
        print(f"{done.stdout}{done.stderr}", flush=True)
    return CheckResult(name, is_good, seconds)


def run_layer(
    layer: str, pytest_arguments: Sequence[str], environment: Mapping[str, str]
) -> CheckResult:
    """Run one folder of tests, its output shown as it comes."""
    print(f"--- tests/{layer} ---", flush=True)
    if layer == "browser":
        missing = provide_browser()
        if missing:
            is_good = os.environ.get("CI") != "true"
            return CheckResult(layer, is_good, 0.0, LayerCounts(), (f"not run: {missing}",))
    report = Path(environment["PRSWEB_HOME"]).parent / f"{layer}.xml"
    command = [sys.executable, "-m", "pytest", f"tests/{layer}", "-q", f"--junitxml={report}"]
    started = time.monotonic()
    done = subprocess.run(
        [*command, *pytest_arguments], cwd=CHECKOUT, env=environment, check=False
    )
    seconds = time.monotonic() - started
    if not report.exists():
        note = f"pytest ended with status {done.returncode} before it could report"
        return CheckResult(layer, False, seconds, LayerCounts(), (note,))
    counts, notes = read_report(report)
    is_good = done.returncode == 0
    if counts == LayerCounts():
        notes = ("no test ran",)
        # Arguments like -k may well choose nothing here.
        is_good = done.returncode == NO_TESTS_COLLECTED and bool(pytest_arguments)
    return CheckResult(layer, is_good, seconds, counts, notes)


def read_report(report: Path) -> tuple[LayerCounts, tuple[str, ...]]:
    """Return the counts of a JUnit report, and the reason of every skip, with how many."""
    passed = failed = 0
    skips: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif skip is not None:
            skips[skip.get("message") or "without a reason"] += 1
        else:
            passed += 1
    notes = tuple(f"{count} skipped: {reason}" for reason, count in skips.items())
    return LayerCounts(passed, failed, skips.total()), notes


def provide_browser() -> str:
    """Return "" when a Chromium is there, else why it is not.

    Where it is missing and may be installed (root, Debian's packages), it is.
    """
    if any(map(shutil.which, BROWSERS)):
        return ""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "no chromium on PATH, and only root with apt-get could install one"
    print("installing Debian's chromium for the browser tests (once) ...", flush=True)
    for step in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", *step],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            return f"chromium could not be installed: apt-get {step[0]}: {said[-1]}"
    return "" if any(map(shutil.which, BROWSERS)) else "apt-get installed no chromium"


def summary_lines(results: Sequence[CheckResult]) -> list[str]:
    lines = ["", "=== summary ==="]
    for result in results:
        word = "good" if result.is_good else "BAD"
        counts = "" if result.counts is None else f"  {result.counts}"
        lines.append(f"{result.name:12} {word:4} {result.seconds:6.1f} s{counts}")
    lines += [f"{result.name}: {note}" for result in results for note in result.notes]
    lines.append(
        str(sum((result.counts or LayerCounts() for result in results), LayerCounts()))
    )
    return lines


if __name__ == "__main__":
    try:
        sys.exit(run_tests(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
