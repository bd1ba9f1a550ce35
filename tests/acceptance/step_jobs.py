"""Small jobs, written into a folder as a user writes them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

MakeStep = Callable[..., Path]
MakeGang = Callable[..., Path]


def write_step(folder: Path, script: str, *, files: int = 20, **fields: Any) -> Path:
    """Write ``score.py``, ``files`` small input files and ``job.yml``; return the last.

    Without other fields: 2 nodes, 2 processes each, 2 files per mini-batch, append_row.
    A field that is None is left out of the job file.
    """
    code, data = folder / "code", folder / "data"
    code.mkdir(parents=True)
    data.mkdir()
    (code / "score.py").write_text(textwrap.dedent(script))
    for number in range(files):
        (data / f"f{number:02d}.txt").write_text(f"{number}\n")
    job = {
        "kind": "parallel_run_step",
        "name": "small",
        "inputs": [{"name": "texts", "type": "files", "path": "data"}],
        "mini_batch_size": 2,
        "source_directory": "code",
        "entry_script": "score.py",
        "node_count": 2,
        "process_count_per_node": 2,
        "output_action": "append_row",
    } | fields
    return write_job(folder, {key: value for key, value in job.items() if value is not None})


def write_gang(folder: Path, groups: dict[str, str], **fields: Any) -> Path:
    """Write a multi-node job whose node groups run shell text; return its job file."""
    work = folder / "work"
    work.mkdir(parents=True)
    job = {
        "kind": "multi_node",
        "name": "gang",
        "nodes": 3,
        "node_groups": [
            {"nodes": nodes, "command": ["sh", "-c", textwrap.dedent(text)]}
            for nodes, text in groups.items()
        ],
        "working_directory": "work",
        "stop_grace_seconds": 5,
    } | fields
    return write_job(folder, job)


def write_job(folder: Path, job: dict[str, Any]) -> Path:
    path = folder / "job.yml"
    path.write_text(json.dumps(job, indent=1))  # JSON is YAML
    return path


ECHO_NAMES = """
    from pathlib import Path

    def run(mini_batch):
        return [Path(path).name for path in mini_batch]
"""
