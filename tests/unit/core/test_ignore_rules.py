"""Patterns as git reads them."""

from __future__ import annotations

import pytest

from runner.core.ignore_rules import IgnoreRules


@pytest.mark.parametrize(
    ("lines", "path", "is_folder", "expected"),
    [
        (["*.pyc"], "a/b.pyc", False, True),
        (["*.pyc"], "a/b.py", False, False),
        (["/data"], "data", True, True),
        (["/data"], "src/data", True, False),
        (["data/"], "src/data", True, True),
        (["data/"], "src/data", False, False),
        (["src/*.log"], "src/a.log", False, True),
        (["src/*.log"], "src/deep/a.log", False, False),
        (["**/tmp"], "a/b/tmp", True, True),
        (["a/**"], "a/b/c", False, True),
        (["a/**/z"], "a/z", False, True),
        (["*.log", "!keep.log"], "keep.log", False, False),
        (["# *.py", ""], "a.py", False, False),
        ([r"\#odd"], "#odd", False, True),
        (["file[0-9].txt"], "file7.txt", False, True),
        (["file[!0-9].txt"], "file7.txt", False, False),
        (["trailing   "], "trailing", False, True),
        ([], "pkg/__pycache__", True, True),
        ([], ".git", True, True),
    ],
)
def test_a_pattern_leaves_out_what_git_leaves_out(lines, path, is_folder, expected):
    assert IgnoreRules(lines).ignores(path, is_folder=is_folder) is expected


def test_a_pattern_that_is_no_expression_harms_nothing():
    assert not IgnoreRules(["[", "a[", "(", "+"]).ignores("x", is_folder=False)
