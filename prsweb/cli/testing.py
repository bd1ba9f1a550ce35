"""The whole suite behind ``./prs test``: checks, then one layer of tests after another."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
LAYERS = ("unit", "integration", "acceptance", "browser")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_TESTS_COLLECTED = 5  # pytest's exit status


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]


@dataclass
class Result:
    """What one check or layer came to."""

    name: str
    is_good: bool
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)


def checks() -> list[Check]:
    python = sys.executable
    tools = Path(python).parent
    return [
        Check("ruff", (str(tools / "ruff"), "check", ".")),
        Check("format", (str(tools / "ruff"), "format", "--check", ".")),
        Check("types", (python, "-m", "mypy")),
        Check("imports", (str(tools / "lint-imports"), "--no-cache")),
        Check("migrations", (python, "manage.py", "makemigrations", "--check", "--dry-run")),
    ]


def run_tests(arguments: Sequence[str]) -> int:
    """Run what ``arguments`` name (layers, or ``checks``; nothing: all) and sum up.

    What stands behind ``--`` goes to pytest. Returns 0 only if everything is good.
    """
    names, _, pytest_arguments = _split(arguments)
    unknown = sorted(set(names) - {*LAYERS, "checks"})
    if unknown:
        known = ", ".join(("checks", *LAYERS))
        print(f"prs test: no layer {unknown[0]!r}; there are: {known}", file=sys.stderr)
        return 2
    results: list[Result] = []
    if not names or "checks" in names:
        results += [run_check(check) for check in checks()]
    results += [
        run_layer(layer, pytest_arguments) for layer in LAYERS if not names or layer in names
    ]
    sum_up(results)
    return 0 if all(result.is_good for result in results) else 1


def _split(arguments: Sequence[str]) -> tuple[list[str], str, list[str]]:
    if "--" not in arguments:
        return list(arguments), "", []
    at = list(arguments).index("--")
    return list(arguments[:at]), "--", list(arguments[at + 1 :])


def run_check(check: Check) -> Result:
    started = time.monotonic()
    done = subprocess.run(
        check.command,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        env=_environment(),
        check=False,
    )
    seconds = time.monotonic() - started
    if done.returncode:
        print(f"--- {check.name} ---\n{done.stdout}{done.stderr}", flush=True)
    return Result(check.name, done.returncode == 0, seconds)


def run_layer(layer: str, pytest_arguments: Sequence[str]) -> Result:
    """Run one folder of tests, its output shown as it comes."""
    folder = CHECKOUT / "tests" / layer
    if layer == "browser" and (missing := provide_browser()):
        in_ci = os.environ.get("CI") == "true"
        return Result(layer, not in_ci, 0.0, notes=[f"browser tests not run: {missing}"])
    started = time.monotonic()
    print(f"--- tests/{layer} ---", flush=True)
    command = [sys.executable, "-m", "pytest", str(folder), "-q", *pytest_arguments]
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=_environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    result = _read_summary(layer, lines)
    result.seconds = time.monotonic() - started
    result.is_good = process.returncode == 0 and result.passed > 0
    return result


def _read_summary(layer: str, lines: Sequence[str]) -> Result:
    """Read pytest's closing line, ``3 failed, 40 passed, 1 skipped in 2.5s``."""
    result = Result(layer, False, 0.0)
    last = next((line for line in reversed(lines) if re.search(r" in [\d.]+s", line)), "")
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last)}
    result.passed = counts.get("passed", 0)
    result.failed = sum(counts.get(word, 0) for word in ("failed", "error", "errors"))
    result.skipped = counts.get("skipped", 0)
    result.notes = [line.strip() for line in lines if line.startswith("SKIPPED")]
    return result


def provide_browser() -> str:
    """Return "" when a Chromium is there, else why it is not.

    Where it is missing and may be installed (root, with Debian's packages), it is.
    """
    if any(map(shutil.which, BROWSERS)):
        return ""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "no chromium on PATH, and it cannot be installed here (needs root and apt-get)"
    print("installing Debian's chromium for the browser tests ...", flush=True)
    for command in (["update", "-q"], ["install", "-y", "-q", "chromium"]):
        done = subprocess.run(
            ["apt-get", *command],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            return f"apt-get {command[0]} failed: {said[-1]}"
    return "" if any(map(shutil.which, BROWSERS)) else "apt-get installed no chromium"


def sum_up(results: Sequence[Result]) -> None:
    print("\n=== summary ===")
    for result in results:
        word = "good" if result.is_good else "BAD"
        tests = ""
        if result.name in LAYERS:
            tests = f"{result.passed} passed, {result.failed} failed, {result.skipped} skipped"
        print(f"{result.name:12} {word:4} {result.seconds:6.1f} s  {tests}".rstrip())
    for result in results:
        for note in result.notes:
            print(f"  {result.name}: {note}")
    passed, failed, skipped = (
        sum(getattr(result, name) for result in results)
        for name in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)


def _environment() -> dict[str, str]:
    """Tests meet none of the settings of a system that runs on this machine."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRSWEB_")}
    return kept | {"DJANGO_SETTINGS_MODULE": "prsweb.settings"}


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[1:]))
