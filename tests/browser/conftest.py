"""A running system, a real browser, and a page that tells what went wrong in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.running_system import RunningSystem
from prsweb.cli.testing import BROWSERS
from tests.browser.slow_job import write_slow_job

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LINES = 1_000_000


@dataclass
class Complaints:
    """What the browser complained about while a test looked at its pages."""

    base: str
    found: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request.url))

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):  # a violated policy is an error
            self.found.append(f"console {kind}: {text}")

    def _request(self, url: str) -> None:
        if not url.startswith((self.base, "data:", "blob:", "about:")):
            self.found.append(f"foreign request: {url}")


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """``./prs up`` with two nodes."""
    with RunningSystem(tmp_path_factory.mktemp("browser") / "home", nodes=2) as running:
        yield running


@pytest.fixture(scope="session")
def base(system: RunningSystem) -> str:
    """The address of the server, without a slash at the end."""
    link: str = system.command("sign-in")["url"]
    return link.partition("/sign-in/")[0]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium; without one the tests are skipped, in CI they fail."""
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    if binary is None:
        missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        missing(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=binary, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def signed_in(system: RunningSystem, browser: Browser) -> Any:
    """Cookies of the administrator's session."""
    context = browser.new_context()
    context.new_page().goto(system.command("sign-in")["url"])
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def complaints(base: str) -> Iterator[Complaints]:
    """Fails the test when the browser complained; ``complaints.found.clear()`` forgives."""
    watched = Complaints(base)
    yield watched
    assert watched.found == []


@pytest.fixture
def open_context(
    browser: Browser, signed_in: Any, base: str, complaints: Complaints
) -> Iterator[Callable[..., BrowserContext]]:
    """Return ``open_context(**options)``: signed in, watched, ended with the test."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        size = {"width": 1400, "height": 900}
        given = {"base_url": base, "storage_state": signed_in, "viewport": size} | options
        context = browser.new_context(**given)
        context.set_default_timeout(15_000)
        context.on("page", complaints.watch)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(open_context: Callable[..., BrowserContext]) -> Page:
    return open_context().new_page()


@pytest.fixture(scope="session")
def faulty(system: RunningSystem) -> dict[str, Any]:
    """The faulty example, ended."""
    return system.submit_and_wait(EXAMPLES / "faulty" / "job.yml")


@pytest.fixture(scope="session")
def ring(system: RunningSystem) -> dict[str, Any]:
    """The multi-node example, ended."""
    return system.submit_and_wait(EXAMPLES / "ring" / "job.yml")


@pytest.fixture(scope="session")
def big_log(faulty: dict[str, Any]) -> str:
    """The path of a log page of a million lines, one of them odd."""
    lines = [f"line {number}" for number in range(1, LINES + 1)]
    lines[499_999] = "\x1b[31mneedle\x1b[0m in <b>hay</b> <script>alert(1)</script>"
    lines[499_989] = "10%\r50%\r100% done"
    path = Path(faulty["folder"]) / "logs" / "big.txt"
    path.write_text("\n".join(lines) + "\n")
    return f"/jobs/{faulty['id']}/logs/big.txt"


@pytest.fixture
def slow_job(system: RunningSystem, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A job that goes on until the test is over, its mini-batches some tenths of a second."""
    job = system.command("submit", str(write_slow_job(tmp_path)))
    yield job
    if system.command("show", job["id"])["state"] in ("STARTING", "RUNNING", "RUNNABLE"):
        system.command("cancel", job["id"])
