"""The time spent in the user's functions, for the job page's profile."""

from __future__ import annotations

import importlib
import os
import time

SAVE_SECONDS = 60.0


class Profiler:
    """Profiles calls one after another into one file, readable by pstats."""

    def __init__(self, module_name: str, path: str) -> None:
        self._profile = importlib.import_module(module_name).Profile()
        self._path = path
        self._saved_at = time.monotonic()

    def wrap(self, function):  # type: ignore[no-untyped-def]
        """Return ``function`` with its calls profiled; a killed process leaves the last
        save, not older than a minute."""

        def profiled(*arguments):  # type: ignore[no-untyped-def]
            try:
                return self._profile.runcall(function, *arguments)
            finally:
                if time.monotonic() - self._saved_at >= SAVE_SECONDS:
                    self.save()

        return profiled

    def save(self) -> None:
        """Write the file; a reader sees the old or the new one, never half of it."""
        new = self._path + ".new"
        self._profile.dump_stats(new)
        os.replace(new, self._path)
        self._saved_at = time.monotonic()
