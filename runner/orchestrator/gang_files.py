"""The files of a multi-node or plain job that its master role reads and writes."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from prsweb.jobs.models import Job, JobNode
from runner.core.attempt_files import exit_file_path
from runner.core.gang_outcome import GangDecision
from runner.core.layout import JobFolder
from runner.core.states import AZURE_STATUS
from runner.orchestrator.job_logs import JobLogs

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Exit:
    """How a command ended, as its guard has kept it."""

    exit_code: int  # 128 + signal when killed
    signal: int | None
    is_stopped: bool


def read_exit(folder: JobFolder, index: int, attempt: int) -> Exit | None:
    """Return the end in the exit file of a node, or None when there is none."""
    try:
        end = json.loads(exit_file_path(folder, index, attempt).read_text())
        code, is_stopped = int(end["return_code"]), bool(end["is_stopped"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if code < 0:
        return Exit(128 - code, -code, is_stopped)
    return Exit(code, None, is_stopped)


def write_result(
    folder: JobFolder, job: Job, decision: GangDecision, rows: Sequence[JobNode]
) -> None:
    """Write ``job_result.txt``, one ``Key: value`` a line, lines without value left out."""
    now = datetime.now(UTC)
    main = next((row for row in rows if row.is_main), None)
    log = folder.attempt_log(main.index, main.attempt) if main else None
    started_at = job.running_at or job.submitted_at
    pairs = [
        ("Status", AZURE_STATUS[decision.state]),
        ("Reason", decision.reason),
        ("Cause", decision.cause),
        ("Decided by", f"{decision.decided_by} at {now:%Y-%m-%dT%H:%M:%SZ}"),
        ("Exit code", None if main is None else main.exit_code),
        ("Look at", log.relative_to(folder.root) if log and log.exists() else None),
        ("Nodes", ", ".join(_node_words(row) for row in rows)),
        ("Attempts", f"{job.attempt} of {job.attempt_limit}"),
        ("Duration", f"{(now - started_at).total_seconds():.3f} s"),
        ("Warnings", len(job.warnings) or None),
    ]
    lines = [f"{key}: {value}" for key, value in pairs if value not in (None, "")]
    lines += [f"- {warning}" for warning in job.warnings]
    JobLogs(folder, take_over=job.take_overs).write(folder.job_result, "\n".join(lines) + "\n")


def _node_words(row: JobNode) -> str:
    end = row.state if row.exit_code is None else f"exit code {row.exit_code}"
    return f"#{row.index} {row.node_name} {end}"
