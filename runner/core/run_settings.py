"""What the master role reads from the specification of a ParallelRunStep job.

``Job.spec`` is complete: every key of the reference stands in it, checked at
submission. This is the part that leads a job, typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.core.deadlines import Deadlines
from runner.core.thresholds import Limits


@dataclass(frozen=True)
class InputSettings:
    name: str
    type: str  # files | table
    paths: tuple[str, ...]  # file, folder or glob, in this order
    rows: tuple[Mapping[str, Any], ...] | None = None
    table: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_spec(cls, raw: Mapping[str, Any]) -> InputSettings:
        path = raw.get("path")
        paths = (path,) if isinstance(path, str) else tuple(path or ())
        rows = raw.get("rows")
        return cls(
            name=raw.get("name") or "",
            type=raw.get("type") or "files",
            paths=paths,
            rows=None if rows is None else tuple(rows),
            table=raw.get("table") or {},
        )


@dataclass(frozen=True)
class StepSettings:
    node_count: int
    process_count_per_node: int | None  # None: by the node
    mini_batch_size: int | str | None
    inputs: tuple[InputSettings, ...]
    rank_mini_batch_count: int
    run_max_try: int
    run_invocation_timeout: float
    limits: Limits
    deadlines: Deadlines
    is_summary_only: bool
    append_row_file_name: str
    output_path: Path | None  # None: the job's own folder
    output: Mapping[str, Any]
    entry_script: str

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> StepSettings:
        is_summary_only = _given(spec, "output_action", "append_row") == "summary_only"
        output = spec.get("output") or {}
        folder = output.get("path")
        return cls(
            node_count=_given(spec, "node_count", 1),
            process_count_per_node=spec.get("process_count_per_node"),
            mini_batch_size=spec.get("mini_batch_size"),
            inputs=tuple(InputSettings.from_spec(one) for one in spec.get("inputs") or ()),
            rank_mini_batch_count=max(0, _given(spec, "rank_mini_batch_count", 0)),
            run_max_try=_given(spec, "run_max_try", 3),
            run_invocation_timeout=_given(spec, "run_invocation_timeout", 60),
            limits=Limits(
                error_threshold=_given(spec, "error_threshold", -1),
                mini_batch_error_threshold=_given(spec, "mini_batch_error_threshold", -1),
                allowed_failed_percent=_given(spec, "allowed_failed_percent", 100.0),
                is_summary_only=is_summary_only,
            ),
            deadlines=_deadlines(spec),
            is_summary_only=is_summary_only,
            append_row_file_name=_given(spec, "append_row_file_name", "parallel_run_step.txt"),
            output_path=Path(folder) if folder else None,
            output=output,
            entry_script=_given(spec, "entry_script", ""),
        )


def _deadlines(spec: Mapping[str, Any]) -> Deadlines:
    run, overhead = (
        _given(spec, "run_invocation_timeout", 60),
        _given(spec, "task_overhead_timeout", 30),
    )
    return Deadlines(
        first_task_creation=_given(spec, "first_task_creation_timeout", 600),
        progress_update=_given(spec, "progress_update_timeout", 3 * (run + overhead)),
        time_limit=spec.get("time_limit"),
    )


def _given(spec: Mapping[str, Any], key: str, default: Any) -> Any:
    value = spec.get(key)
    return default if value is None else value
