"""docs/settings.md and the code know the same PRSWEB_ variables."""

from __future__ import annotations

import re
from pathlib import Path

from prsweb.paths import CHECKOUT

VARIABLE = re.compile(r"PRSWEB_[A-Z][A-Z_]*[A-Z]")


def read_variables(paths: list[Path]) -> set[str]:
    return {name for path in paths for name in VARIABLE.findall(path.read_text())}


def test_every_setting_that_the_code_reads_is_documented_and_no_other() -> None:
    code = [
        path for package in ("prsweb", "runner") for path in (CHECKOUT / package).rglob("*.py")
    ]
    code.append(CHECKOUT / "prs")

    documented = read_variables([CHECKOUT / "docs" / "settings.md"])

    assert read_variables(code) - documented == set(), "not in docs/settings.md"
    assert documented - read_variables(code) == set(), "only in docs/settings.md"
