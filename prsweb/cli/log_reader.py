"""Read a job's logs through the API: as they are, or as they grow."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator
from typing import Any

from prsweb.cli.client import ApiClient, segment
from prsweb.cli.job_reference import get_job
from prsweb.cli.log_files import LevelFilter, LogChoice, LogSource, choose_logs
from prsweb.cli.waiting import FINAL_STATES

RANGE_LINES = 500
POLL_SECONDS = 0.5
MOST_FILES = 10_000

Line = tuple[LogSource, str]


class LogReader:
    def __init__(self, client: ApiClient, job_id: str) -> None:
        self._client = client
        self._job_id = job_id
        self._logs = f"/jobs/{segment(job_id)}/logs"

    def files(self) -> list[dict[str, Any]]:
        return list(self._client.items(self._logs, limit=MOST_FILES))

    def sources(self, choice: LogChoice) -> list[LogSource]:
        return choose_logs(self.files(), choice)

    def read(self, source: LogSource) -> Iterator[str]:
        """Yield the lines of a file as it is now."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        for block in self._client.download(f"{self._logs}/raw", path=source.path):
            *lines, rest = (rest + decoder.decode(block)).split("\n")
            yield from lines
        if rest:
            yield rest

    def follow(self, choice: LogChoice) -> Iterator[Line]:
        """Yield lines as they come, of files that come later too, until the job ends."""
        growing: dict[str, GrowingLog] = {}
        while True:
            # Asked first: what is written before the end is read after this answer.
            has_ended = get_job(self._client, self._job_id)["state"] in FINAL_STATES
            for source in self.sources(choice):
                log = growing.setdefault(source.path, GrowingLog(source, choice.level))
                for line in log.new_lines(self._client, self._logs, has_ended):
                    yield source, line
            if has_ended:
                return
            time.sleep(POLL_SECONDS)


class GrowingLog:
    """What has been shown of a file. Its last line is held back while it may grow."""

    def __init__(self, source: LogSource, level: str | None) -> None:
        self._source = source
        self._filter = LevelFilter(level)
        self._next_line = 1
        self._held: str | None = None

    def new_lines(self, client: ApiClient, logs: str, is_final: bool) -> Iterator[str]:
        while True:
            answer = client.get(
                f"{logs}/range",
                path=self._source.path,
                first=self._next_line,
                count=RANGE_LINES,
            )
            lines: list[str] = answer["lines"]
            is_last = self._next_line + len(lines) > answer["total_lines"]
            if lines and is_last and not is_final and lines[-1] != self._held:
                self._held = lines[-1]
                lines = lines[:-1]
            self._next_line += len(lines)
            yield from (line for line in lines if self._filter.passes(line))
            if is_last or not lines:
                return
