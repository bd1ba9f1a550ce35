"""The docs page of keys is made from the models."""

from __future__ import annotations

from pathlib import Path

from runner.core.specs.reference import reference_page

PAGE = Path(__file__).resolve().parents[4] / "docs" / "job-file.md"


def test_the_docs_page_is_the_one_that_the_models_give() -> None:
    assert PAGE.read_text() == reference_page()
