"""A specification that is written down reads back equal."""

from __future__ import annotations

import json
import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.core.specs import apply_settings, dump_spec, parse_spec
from tests.unit.core.specs.spec_jobs import command, multi_node, step

# No deadline: the machine is shared, and time is no pass mark.
read_back = settings(deadline=None)

NAMES = st.text(string.ascii_letters + "_", min_size=1, max_size=8)
TEXTS = st.text(string.printable + "äé€", max_size=12).filter(lambda text: "${{" not in text)
SECONDS = st.one_of(st.integers(1, 259_200), st.floats(0.001, 259_200))
PATHS = st.text(string.ascii_letters + "/*?.- ", min_size=1, max_size=20).map("/".__add__)

TABLE_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "format": st.sampled_from(["csv", "tsv", "jsonl", "parquet"]),
        "delimiter": st.sampled_from([",", ";", "\t"]),
        "header": st.sampled_from(["every_file", "first_file", "none"]),
        "quoted_newlines": st.booleans(),
        "types": st.one_of(
            st.sampled_from(["infer", "string", "mixed"]),
            st.dictionaries(TEXTS, st.sampled_from(["int", "float", "datetime"])),
        ),
        "columns": st.lists(TEXTS),
    },
)
FILE_INPUTS = st.lists(
    st.fixed_dictionaries({"path": st.one_of(PATHS, st.lists(PATHS, min_size=1, max_size=3))}),
    min_size=1,
    max_size=3,
)
TABLE_INPUTS = st.lists(
    st.fixed_dictionaries(
        {"path": PATHS, "type": st.just("table")}, optional={"table": TABLE_OPTIONS}
    ),
    min_size=1,
    max_size=2,
)
STEPS = st.fixed_dictionaries(
    {},
    optional={
        "description": TEXTS,
        "tags": st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=3),
        "side_inputs": st.dictionaries(
            NAMES,
            st.one_of(PATHS, st.fixed_dictionaries({"path": PATHS, "stage": st.just("copy")})),
        ),
        "models": st.dictionaries(NAMES, PATHS, max_size=2),
        "arguments": st.lists(TEXTS, max_size=4).map(lambda rest: ["-x", *rest]),
        "environment": st.fixed_dictionaries(
            {}, optional={"python": st.just("3.11"), "requirements": st.lists(TEXTS)}
        ),
        "environment_variables": st.dictionaries(NAMES, TEXTS, max_size=3),
        "node_count": st.integers(1, 1000),
        "process_count_per_node": st.one_of(st.none(), st.integers(1, 1024)),
        "run_invocation_timeout": SECONDS,
        "run_max_try": st.integers(1, 2**31 - 1),
        "task_overhead_timeout": SECONDS,
        "progress_update_timeout": st.one_of(st.none(), SECONDS),
        "time_limit": st.one_of(st.none(), SECONDS),
        "error_threshold": st.integers(-1, 2**31 - 1),
        "allowed_failed_count": st.integers(-1, 2**31 - 1),
        "allowed_failed_percent": st.floats(0, 100),
        "append_row_file_name": st.text(string.ascii_letters, min_size=1, max_size=20),
        "output": st.fixed_dictionaries(
            {},
            optional={
                "format": st.sampled_from(["text", "csv", "jsonl", "parquet"]),
                "sep": st.sampled_from([",", " ", "\t"]),
                "header": st.booleans(),
            },
        ),
        "outputs": st.dictionaries(NAMES, st.just({}), max_size=2),
        "logging_level": st.sampled_from(["debug", "INFO", "Warning"]),
        "allow_reuse": st.booleans(),
        "rank_mini_batch_count": st.integers(-2, 3),
    },
)


def assert_reads_back_equal(raw: dict[str, Any]) -> None:
    spec = parse_spec(raw).spec
    dumped = dump_spec(spec)
    kept = json.loads(json.dumps(dumped))

    again = parse_spec(kept).spec

    assert again == spec
    assert dump_spec(again) == dumped
    assert parse_spec(apply_settings(kept, {})).spec == spec


@read_back
@given(changes=STEPS, inputs=FILE_INPUTS, size=st.one_of(st.none(), st.integers(1, 10**9)))
def test_a_step_over_files_reads_back_equal(
    changes: dict[str, Any], inputs: list[dict[str, Any]], size: int | None
) -> None:
    named = [{"name": f"in{number}", **one} for number, one in enumerate(inputs)]

    assert_reads_back_equal(step(**{**changes, "inputs": named, "mini_batch_size": size}))


@read_back
@given(
    changes=STEPS,
    inputs=TABLE_INPUTS,
    size=st.sampled_from([None, 20, "20", "10KB", "1gb", "7rows"]),
    keys=st.one_of(st.none(), st.lists(TEXTS, min_size=1, max_size=3, unique=True)),
)
def test_a_step_over_tables_reads_back_equal(
    changes: dict[str, Any], inputs: list[dict[str, Any]], size: Any, keys: list[str] | None
) -> None:
    named = [{"name": f"in{number}", **one} for number, one in enumerate(inputs)]
    cut = {"mini_batch_size": size} if keys is None else {"partition_keys": keys}

    assert_reads_back_equal(step(**{**changes, "inputs": named, **cut}))


@read_back
@given(
    value=st.one_of(st.integers(1, 100), st.sampled_from(["5", "100"])),
    text=TEXTS.filter(lambda text: "\n" not in text and "\r" not in text),
)
def test_a_step_with_parameters_reads_back_equal(value: Any, text: str) -> None:
    assert_reads_back_equal(
        step(
            parameters={"size": value, "text": text},
            mini_batch_size="${{parameters.size}}",
            description="${{parameters.text}} and ${{parameters.size}}",
            arguments=[
                "--size=${{parameters.size}}",
                "${{parameters.text}}",
                "${{inputs.scans}}",
            ],
            tags={"a.b[0]": "${{parameters.text}}"},
            side_inputs={"labels": "/l/${{parameters.size}}"},
        )
    )


@read_back
@given(
    nodes=st.integers(2, 1000),
    vcpus=st.one_of(st.none(), st.integers(1, 64)),
    memory=st.one_of(st.none(), st.integers(4, 10**6)),
    words=st.lists(TEXTS.filter(bool), max_size=4),
    timeout=st.one_of(st.none(), st.integers(60, 10**6)),
)
def test_a_multi_node_job_reads_back_equal(
    nodes: int, vcpus: int | None, memory: int | None, words: list[str], timeout: int | None
) -> None:
    groups = [
        {"nodes": ":", "command": words, "vcpus": vcpus, "memory": memory},
        {"nodes": "1:", "command": "exit 0"},
    ]

    assert_reads_back_equal(multi_node(nodes, timeout=timeout, node_groups=groups))


@read_back
@given(size=st.integers(2, 10_000), grace=st.floats(0, 3600))
def test_a_plain_job_reads_back_equal(size: int, grace: float) -> None:
    assert_reads_back_equal(
        command(
            array={"size": size},
            stop_grace_seconds=grace,
            depends_on=[{"type": "SEQUENTIAL"}],
            retry={
                "attempts": 3,
                "evaluate_on_exit": [{"on_exit_code": "4*", "action": "Exit"}],
            },
        )
    )
