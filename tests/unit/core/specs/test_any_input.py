"""Whatever is written, the answer is a specification or a list of problems."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.core.problems import InvalidSpec
from runner.core.specs import apply_settings, dump_spec, load_job_file, parse_spec
from runner.core.specs.formats import MODELS
from runner.core.specs.reference import keys_of
from tests.unit.core.specs.spec_jobs import command, multi_node, step

# No deadline: the machine is shared, and time is no pass mark.
whatever = settings(deadline=None, max_examples=150)

JOBS = {
    "parallel_run_step": step(parameters={"a": 1}, side_inputs={"l": "/l"}),
    "multi_node": multi_node(3, "0", "1:"),
    "command": command(),
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["${{parameters.a}}", "${{x}}", "--run_max_try", "dataset:", "1:", ""])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def parse_whatever(raw: Any) -> None:
    with contextlib.suppress(InvalidSpec):
        json.dumps(dump_spec(parse_spec(raw, paths_must_be_absolute=True).spec))


@pytest.mark.parametrize("kind", MODELS)
@whatever
@given(data=st.data())
def test_any_value_of_any_key_is_taken_or_refused(kind: str, data: st.DataObject) -> None:
    names = [*type(parse_spec(JOBS[kind]).spec).model_fields, "allowed_failed_count"]
    changes = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=4))

    parse_whatever({**JOBS[kind], **changes, "kind": kind})


@whatever
@given(raw=VALUES)
def test_any_document_is_taken_or_refused(raw: Any) -> None:
    parse_whatever(raw)


@pytest.mark.parametrize("kind", MODELS)
@whatever
@given(data=st.data())
def test_any_setting_is_taken_or_refused(kind: str, data: st.DataObject) -> None:
    known = [one.path.replace("[]", ".0").replace("NAME", "l") for one in keys_of(kind)]
    paths = st.sampled_from(known) | st.text(alphabet='abl.[]"0129_', max_size=12)
    texts = st.text(max_size=8) | st.sampled_from(
        ["5", "[1]", '{"a": 1}', "a,b", "true", "1e9"]
    )
    changes = data.draw(st.dictionaries(paths, texts, max_size=3))

    with contextlib.suppress(InvalidSpec):
        parse_whatever(apply_settings(JOBS[kind], changes))


@whatever
@given(text=st.text(max_size=40) | st.text(alphabet="ab:-[]{}&*!?|>'\"%@ \n\t01.", max_size=40))
def test_any_text_of_a_file_is_taken_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidSpec):
        load_job_file(text)
