"""Keys of the job file that this version does not carry out yet.

A job that asks for one is refused: run without it, it would succeed with another
result than its owner believes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.core.problems import Problem, found_text

KEYS = {
    "partition_keys": "mini-batches by key are not offered yet: leave it out",
    "resume_from": "taking over what succeeded is not offered yet: leave it out",
    "array": "array jobs are not offered yet: submit the jobs one by one",
    "depends_on": "dependencies are not offered yet: submit the job when they have ended",
}
INPUT_RULE = "keys are not read from paths yet: leave it out"
OUTPUT_FORMATS = frozenset({"parquet"})
TABLE_FORMATS = frozenset({"parquet", "sql"})


def check_offered(spec: Mapping[str, Any]) -> Iterator[Problem]:
    for key, rule in KEYS.items():
        if spec.get(key):
            yield Problem(key, rule, found_text(spec[key]))
    output = (spec.get("output") or {}).get("format")
    if output in OUTPUT_FORMATS:
        rule = "cannot be written yet; text, csv and jsonl can"
        yield Problem("output.format", rule, found_text(output))
    for number, one in enumerate(spec.get("inputs") or ()):
        yield from _check_input(f"inputs[{number}]", one)


def _check_input(where: str, one: Mapping[str, Any]) -> Iterator[Problem]:
    table = one.get("table") or {}
    for path, members in ((where, one), (f"{where}.table", table)):
        if members.get("partition_format"):
            found = found_text(members["partition_format"])
            yield Problem(f"{path}.partition_format", INPUT_RULE, found)
    if table.get("format") in TABLE_FORMATS:
        rule = "cannot be read yet; csv, tsv and jsonl can"
        yield Problem(f"{where}.table.format", rule, found_text(table["format"]))
