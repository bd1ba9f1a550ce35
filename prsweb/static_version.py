"""One short name for the content of all the browser's files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def tree_version(folder: Path) -> str:
    """Return ten hex digits that differ when a file below ``folder`` does."""
    digest = hashlib.blake2b(digest_size=5)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()
