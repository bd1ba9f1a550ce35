"""The tree of log files, as it lies on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from prsweb.jobs.filters import LogFilter, MalformedCursor, tolerant
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.logs import LogEntry, log_tree

FOLDED_ABOVE = 50  # entries of a folder that is not opened by itself

# What a person looks for first stands first; other folders follow by name.
ORDER = (".", "user", "nodes", "sys", "perf", "azureml")


@dataclass(frozen=True)
class LogFolder:
    path: str  # "." for logs/ itself
    entries: tuple[LogEntry, ...]
    is_open: bool

    @property
    def words(self) -> str:
        return "logs" if self.path == "." else self.path


def log_folders(
    job: Job, *, after: str = "", open_path: str = ""
) -> tuple[list[LogFolder], str | None]:
    """Return the folders of one page of the tree, and the cursor of the next page."""
    wanted, _ = tolerant(LogFilter, {"after": after})
    try:
        page = log_tree(job, wanted)
    except MalformedCursor:
        page = log_tree(job)
    by_folder: dict[str, list[LogEntry]] = {}
    for entry in page.entries:
        by_folder.setdefault(str(PurePosixPath(entry.path).parent), []).append(entry)
    opened = str(PurePosixPath(open_path).parent) if open_path else "."
    folders = [
        LogFolder(path, tuple(entries), _is_open(path, entries, opened))
        for path, entries in by_folder.items()
    ]
    return sorted(folders, key=_rank), page.next


def _is_open(path: str, entries: list[LogEntry], opened: str) -> bool:
    if path == opened:
        return True
    is_first = path == "." or path.startswith(("user/error", "user/stdout", "nodes/"))
    return is_first and len(entries) <= FOLDED_ABOVE


def _rank(folder: LogFolder) -> tuple[int, str]:
    top = folder.path.partition("/")[0]
    return (ORDER.index(top) if top in ORDER else len(ORDER), folder.path)
