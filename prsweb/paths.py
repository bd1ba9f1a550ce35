"""Where this installation keeps its state."""

from __future__ import annotations

import os
from pathlib import Path

from runner.core.layout import Home

CHECKOUT = Path(__file__).resolve().parent.parent


def prsweb_home() -> Home:
    """Return PRSWEB_HOME, by default ``var/`` in the checkout."""
    return Home(Path(os.environ.get("PRSWEB_HOME") or CHECKOUT / "var").absolute())
