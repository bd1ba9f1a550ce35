"""Write ``processed_mini-batches.csv`` while the job runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from prsweb.jobs.services.recording import RecordedTries
from runner.core.job_log_texts import MINI_BATCH_COLUMNS
from runner.core.layout import JobFolder
from runner.core.manifest import ManifestReader
from runner.core.mini_batch_report import failure_row, init_row, success_rows
from runner.harness.wire import RECORD

logger = logging.getLogger(__name__)


class MiniBatchReport:
    """Appends a row per ended try. A disk that is full fails no job."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._path: Path = folder.job_report / "processed_mini-batches.csv"

    def add(self, tries: list[RecordedTries], node_names: Mapping[int, str]) -> None:
        self._append("".join(self._rows(one, node_names) for one in tries))

    def add_init(
        self, *, node: str, process: int, at: float, seconds: float, message: str | None
    ) -> None:
        self._append(
            init_row(node=node, process=process, at=at, seconds=seconds, message=message)
        )

    def _rows(self, one: RecordedTries, node_names: Mapping[int, str]) -> str:
        node = node_names.get(one.node_index, str(one.node_index))
        if one.body:
            records = RECORD.iter_unpack(one.body)
            return success_rows(records, node=node, process=one.process)
        return "".join(
            failure_row(
                record,
                node=node,
                process=one.process,
                category=category,
                message=message,
                detail=self._detail(record[0]) if message else None,
            )
            for record, category, message in one.tries
        )

    def _detail(self, index: int) -> str | None:
        """Return the first items of a mini-batch that failed."""
        try:
            with ManifestReader(self._folder) as manifest:
                return " ".join(manifest.read(index).item_names(3))
        except (OSError, IndexError, ValueError):
            return None

    def _append(self, text: str) -> None:
        if not text:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self._path.exists()
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(MINI_BATCH_COLUMNS + text if is_new else text)
        except OSError as error:
            logger.warning("%s not written: %s", self._path, error)
