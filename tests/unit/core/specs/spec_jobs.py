"""The least jobs that are valid; a test changes what it is about."""

from __future__ import annotations

from typing import Any

import pytest

from runner.core.problems import InvalidSpec
from runner.core.specs import parse_spec

FILES: list[dict[str, Any]] = [{"name": "scans", "path": "/data/scans"}]
TABLE: list[dict[str, Any]] = [
    {"name": "people", "type": "table", "path": "/data/people/*.csv"}
]


def step(**changes: Any) -> dict[str, Any]:
    least = {
        "kind": "parallel_run_step",
        "name": "score-scans",
        "inputs": FILES,
        "entry_script": "score.py",
        "output_action": "append_row",
    }
    return {**least, **changes}


def multi_node(nodes: int, *ranges: str, **changes: Any) -> dict[str, Any]:
    groups = [{"nodes": text, "command": ["true"]} for text in ranges]
    least = {"kind": "multi_node", "name": "wing", "nodes": nodes, "node_groups": groups}
    return {**least, **changes}


def command(**changes: Any) -> dict[str, Any]:
    return {"kind": "command", "name": "one-shot", "command": ["true"], **changes}


def problems_of(raw: Any, **options: Any) -> list[str]:
    """Return what ``parse_spec`` refuses, a sentence each."""
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(raw, **options)
    return [str(problem) for problem in refused.value.problems]
