"""The table of keys, made from the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.specs.formats import MODELS
from runner.core.specs.reference import TYPE_WORDS, key_of, keys_of, reference_page

PAGE = Path(__file__).resolve().parents[4] / "docs" / "job-file.md"


def test_the_docs_page_is_the_one_that_the_models_give() -> None:
    assert PAGE.read_text() == reference_page()


@pytest.mark.parametrize("kind", MODELS)
def test_every_key_has_its_rule_and_meaning(kind: str) -> None:
    for one in keys_of(kind):
        assert one.rule, one.path
        assert one.help_text, one.path
        assert one.kind in {*TYPE_WORDS, "value"}, one.path


def test_what_is_offered_first_is_what_azure_offers() -> None:
    offered = {one.path for one in keys_of("parallel_run_step") if one.is_offered}

    assert offered == {
        "inputs",
        "mini_batch_size",
        "partition_keys",
        "side_inputs",
        "models",
        "arguments",
        "node_count",
        "process_count_per_node",
        "run_invocation_timeout",
        "run_max_try",
        "logging_level",
    }


def test_a_key_is_found_by_its_path() -> None:
    found = key_of("multi_node", "node_groups[].command")

    assert found is not None
    assert found.type_text == "list of text, or one text"
    assert key_of("multi_node", "entry_script") is None
