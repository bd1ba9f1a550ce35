"""Waiting with a deadline and a name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest


def wait_for(condition: Callable[[], Any], what: str, *, seconds: float = 20.0) -> Any:
    """Return what ``condition`` gives once it is true; fail with ``what`` when late."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    pytest.fail(f"{what} did not happen within {seconds} s")
