"""The table of vendored files tells the truth."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "static" / "vendor", ROOT / "tests" / "browser" / "vendor")
ROW = re.compile(r"^\| `([^`]+)` .* `([0-9a-f]{64})` \|$", re.MULTILINE)


def table(folder: Path) -> dict[str, str]:
    return dict(ROW.findall((folder / "README.md").read_text()))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_every_vendored_file_has_the_hash_of_the_table(folder: Path) -> None:
    listed = table(folder)

    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.suffix in {".js", ".css", ".svg"}
    }

    assert found == listed
