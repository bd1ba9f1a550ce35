"""What the system says to who writes into a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

PROBE_BYTES = 64 * 1024


def describe_writing(folder: Path) -> str:
    """Return the folder with the system's refusal of a small write, else what is free."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
        return f"{folder}, where {shutil.disk_usage(folder).free >> 20:,} MiB are free"
    except OSError as error:
        return f"{folder}: {error.strerror}"
