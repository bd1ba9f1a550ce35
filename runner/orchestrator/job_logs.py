"""The files below a job's ``logs/`` that its master role writes.

Small files, opened for each line: a line a second at most, and whoever moves
or removes a file meets no open descriptor.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import traceback
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.core import job_log_texts as texts
from runner.core.layout import JobFolder, process_name
from runner.core.secret_values import mask_spec

logger = logging.getLogger(__name__)

OVERVIEW_LINK = "job_progress_overview.txt"
STDERR_BYTES = 8192  # of a process that could not start, repeated in the driver log


def now() -> datetime:
    return datetime.now(UTC)


class JobLogs:
    """Writing never fails a job: a disk that is full is told to our own log."""

    def __init__(self, folder: JobFolder, *, take_over: int) -> None:
        self.folder = folder
        self.host = socket.gethostname()
        self._master_log = folder.master_log(take_over)

    def make_tree(self, job_id: str, name: str, nodes: Sequence[str]) -> None:
        """Make every folder that is promised to exist, and the readme."""
        user = self.folder.user_logs
        folders = [self.folder.logs, self.folder.logs / "azureml", self.folder.job_report]
        folders += [self.folder.system_errors, self.folder.logs / "sys" / "node"]
        folders += [user / kind for kind in ("stdout", "stderr", "error", "entry_script_log")]
        folders.append(self.folder.logs / "perf")
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        self.write(self.folder.logs / "readme.txt", texts.readme(job_id, name))

    def overview(self, text: str) -> None:
        """Add a line to the newest overview file, which a link always names."""
        at = now()
        name = f"job_progress_overview.{texts.hour_stamp(at)}.txt"
        path = self.folder.logs / name
        is_new = not path.exists()
        self.append(path, texts.overview_line(at, text))
        if is_new:
            self._link(self.folder.logs / OVERVIEW_LINK, name)

    def master(self, text: str, level: str = "INFO") -> None:
        line = texts.system_line(now(), level, os.getpid(), threading.get_ident(), text)
        self.append(self._master_log, line)

    def driver(self, text: str) -> None:
        self.append(self.folder.driver_log, texts.overview_line(now(), text))

    def driver_start(self, spec: Mapping[str, Any], facts: Sequence[str]) -> None:
        """Say what starts here: facts, then the specification as it was frozen."""
        for fact in facts:
            self.driver(fact)
        self.driver("specification:")
        shown = json.dumps(mask_spec(spec), indent=1, sort_keys=True)
        self.append(self.folder.driver_log, shown + "\n")

    def driver_launch(self, node: str, process: int, facts: str) -> None:
        self.driver(f"node {node} {process_name(process)}: {facts}")

    def driver_stderr(self, node: str, process: int) -> None:
        """Repeat the end of what a process said before it could tell anything else."""
        path = self.folder.descriptor_log(node, process, "stderr")
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - STDERR_BYTES))
                text = file.read().decode("utf-8", "backslashreplace")
        except OSError:
            return
        for line in text.splitlines():
            self.driver(f"node {node} {process_name(process)} stderr: {line}")

    def system_error(self, error: BaseException) -> None:
        """Keep an exception of our own for whoever reports it."""
        story = "".join(traceback.format_exception(error))
        path = self.folder.system_errors / "master.txt"
        self.append(path, texts.overview_line(now(), story.rstrip()))

    def progress(self, values: Sequence[object]) -> None:
        at = now()
        folder = self.folder.logs / "sys" / "metrics" / texts.hour_stamp(at)
        path = folder / "progress.csv"
        line = texts.csv_line([texts.report_time(at), *values])
        head = "" if path.exists() else texts.PROGRESS_COLUMNS
        self.append(path, head + line)

    def errors(self, summary: str) -> None:
        """Replace the summaries of errors by the newest; empty text writes none."""
        if not summary:
            return
        self.write(self.folder.user_logs / "error.txt", summary)
        stamp = texts.hour_stamp(now())
        for old in self.folder.logs.glob("job_error.*.txt"):
            if old.name != f"job_error.{stamp}.txt":
                old.unlink(missing_ok=True)
        self.write(self.folder.logs / f"job_error.{stamp}.txt", summary)

    def result(self, result: texts.JobResult) -> None:
        self.write(self.folder.job_result, result.text())
        self.driver(result.last_words())

    def append(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            logger.warning("%s not written: %s", path, error)

    def write(self, path: Path, text: str) -> None:
        """Replace the file as a whole."""
        fresh = path.with_name(f".{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(text, encoding="utf-8", errors="backslashreplace")
            fresh.replace(path)
        except OSError as error:
            logger.warning("%s not written: %s", path, error)

    def _link(self, link: Path, target: str) -> None:
        fresh = link.with_name(f".{link.name}.new")
        try:
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(target)
            fresh.replace(link)
        except OSError as error:
            logger.warning("%s not written: %s", link, error)
