"""Whatever stands in a file of Azure, the answer is a specification or problems."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.core.problems import InvalidSpec
from runner.core.specs import apply_settings, dump_spec, import_document, parse_spec, with_notes
from runner.core.specs.azure.v1_keys import BESIDE, CONFIG_KEYS, STEP_KEYS, TOP
from runner.core.specs.azure.v2 import KEYS, TASK_KEYS
from runner.core.specs.imported import ImportedDocument
from tests.unit.core.specs.azure.azure_jobs import parsed, reader, v1, v2

# No deadline: the machine is shared, and time is no pass mark.
whatever = settings(deadline=None, max_examples=150)

TEXTS = st.sampled_from(
    [
        "${{inputs.scans}}",
        "${{inputs.limit}}",
        "${{inputs.x}}",
        "${{parent.inputs.x}}",
        "${{x}}",
        "$[[--a ${{inputs.limit}}]]",
        "--mini_batch_size 5",
        "--partition_keys [",
        "azureml:a:1",
        "azureml:",
        "azureml://",
        "./f.yml",
        "uri_file",
        "mltable",
        "1KB",
        "5",
        "",
        "'",
    ]
)
NAMES = st.sampled_from(
    ["type", "path", "mode", "default", "conda_file", "python", "dependencies", "pip", "scans"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
FILES = {"./f.yml": "{dependencies: [numpy], type: parallel, inputs: {a: {type: integer}}}"}


def parse_whatever(raw: Any) -> None:
    for files in (None, FILES):
        with contextlib.suppress(InvalidSpec):
            json.dumps(dump_spec(parsed(raw, files).spec))


@whatever
@given(
    job=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
    task=st.dictionaries(st.sampled_from(TASK_KEYS), VALUES, max_size=3),
)
def test_any_v2_file_is_taken_or_refused(job: dict[str, Any], task: dict[str, Any]) -> None:
    least = v2()

    parse_whatever({**least, "task": {**least["task"], **task}, **job, "type": "parallel"})


@whatever
@given(
    config=st.dictionaries(st.sampled_from(CONFIG_KEYS), VALUES, max_size=4),
    step=st.dictionaries(st.sampled_from(STEP_KEYS), VALUES, max_size=3),
)
def test_any_v1_file_is_taken_or_refused(config: dict[str, Any], step: dict[str, Any]) -> None:
    parse_whatever(v1(step, **config))


@pytest.mark.parametrize("top", [TOP, BESIDE, "type"])
@whatever
@given(value=VALUES, other=VALUES)
def test_any_top_of_a_file_is_taken_or_refused(top: str, value: Any, other: Any) -> None:
    parse_whatever({top: "parallel" if top == "type" else value, "component": other})


@whatever
@given(path=st.sampled_from(["inputs.0.path", "parameters.limit", "arguments.0"]), text=TEXTS)
def test_any_setting_of_a_file_is_taken_or_refused(path: str, text: str) -> None:
    for raw in (v1(), v2()):
        with contextlib.suppress(InvalidSpec):
            parse_spec(apply_settings(raw, {path: text}))


@whatever
@given(notes=VALUES | st.dictionaries(st.sampled_from(["warnings", "spelled"]), VALUES))
def test_any_notes_are_taken_or_refused(notes: Any) -> None:
    with contextlib.suppress(InvalidSpec):
        parse_spec(with_notes({"kind": "parallel_run_step"}, notes))


def test_the_notes_of_a_document_travel_as_json() -> None:
    document = import_document(v2("{name: A!}"), reader({}))
    assert isinstance(document, ImportedDocument)

    again = with_notes(dict(document), json.loads(json.dumps(document.notes())))

    assert (again.warnings, again.spelled) == (document.warnings, document.spelled)
    assert parse_spec(again) == parse_spec(document)
