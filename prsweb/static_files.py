"""The browser's files: under an address that names their content, packed once.

The address holds a hash of the whole tree, so a browser may keep every file for a
year, and scripts may import each other by relative names. Nothing has to be
collected before the start.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from django.conf import settings
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import StaticFile

PACKED_SUFFIXES = (".js", ".css", ".svg")
LEAST_BYTES = 1024  # below, packing gains nothing


class VersionedStaticMiddleware(ServeStaticMiddleware):
    """Serves the tree as it is, or packed where the browser takes it so."""

    def immutable_file_test(self, path: str, url: str) -> bool:
        return _is_ours(Path(path))

    def get_static_file(
        self, path: str, url: str, stat_cache: dict[str, os.stat_result] | None = None
    ) -> StaticFile:
        found = super().get_static_file(path, url, stat_cache)
        packed = self._packed(Path(path), url)
        if packed is None:
            return found
        _, _, headers = found.alternatives[-1]
        return StaticFile(path, headers, encodings={"gzip": str(packed)})

    def _packed(self, source: Path, url: str) -> Path | None:
        """Return the packed copy, made at the first start with this tree; None where
        it would not be smaller, or nothing can be written."""
        if source.suffix not in PACKED_SUFFIXES or not _is_ours(source):
            return None
        if source.stat().st_size < LEAST_BYTES:
            return None
        version = self.static_prefix.strip("/").rpartition("/")[2]
        name = url.removeprefix(self.static_prefix).replace("/", "--")
        target = Path(str(self.static_root)) / version / f"{name}.gz"
        if target.exists():
            return target
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(gzip.compress(source.read_bytes(), compresslevel=6, mtime=0))
            draft.replace(target)
        except OSError:
            return None
        return target


def _is_ours(path: Path) -> bool:
    """Whether the hash in the address covers the file; those of packages have none."""
    return any(path.is_relative_to(folder) for folder in settings.STATICFILES_DIRS)
