"""docs/api.md names every operation, and none that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

from prsweb.api.api import api

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api.md"


def test_the_page_and_the_api_have_the_same_operations():
    written = set(re.findall(r"^\| `([A-Z]+) (/[^`]*)` \|", PAGE.read_text(), re.MULTILINE))

    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
    }

    assert written == described
