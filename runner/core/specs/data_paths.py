"""Where data may lie: a path, a URL, a dataset, a path below a datastore."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

KNOWN_FORMS = "a path, a URL, a dataset, rows, or an uploaded CSV or Parquet file"
RULE = f"must be {KNOWN_FORMS}"
ABSOLUTE_RULE = (
    "must be an absolute path, a URL, dataset:NAME or datastore:NAME/path; "
    "a relative one is relative to a job file on disk"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+", re.DOTALL)
_DATASET = re.compile(r"dataset:[A-Za-z0-9_][A-Za-z0-9_.-]*(@[1-9][0-9]{0,8})?")
_DATASTORE = re.compile(r"datastore:[A-Za-z0-9_][A-Za-z0-9_.-]*(/.*)?", re.DOTALL)


def check_data_path(path: Any) -> str:
    """Return ``path`` if it has one of the known forms, or raise ValueError."""
    if not isinstance(path, str) or not path.strip():
        raise ValueError(RULE)
    if path.startswith("azureml:"):
        raise ValueError(
            "names of Azure are not known here: azureml:NAME:3 is written dataset:NAME@3, "
            "azureml://datastores/D/paths/P is datastore:D/P"
        )
    if path.startswith("dataset:") and not _DATASET.fullmatch(path):
        raise ValueError("a dataset is written dataset:NAME, or dataset:NAME@3 for a version")
    if path.startswith("datastore:") and not _DATASTORE.fullmatch(path):
        raise ValueError("a datastore is written datastore:NAME/path")
    return path


def is_on_this_machine(path: str) -> bool:
    """Whether it is a path of the file system, not a URL, a dataset or a datastore."""
    return not (_URL.fullmatch(path) or path.startswith(("dataset:", "datastore:")))


def is_relative(path: str) -> bool:
    return is_on_this_machine(path) and not PurePosixPath(path).is_absolute()
