"""Fragments that many people look at are rendered once for all of them.

Only what is the same for everybody who may see the job: its own viewer's right was
checked before. A render is shared by viewers who stand at the same position of the
stream, so none is older than the facts that asked for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS = 0.9  # what changes with the clock is rendered anew each second
MOST = 1_000  # kept; a fragment has some kB


@dataclass
class SharedRenders:
    clock: Callable[[], float] = time.monotonic
    _kept: dict[tuple[str, str, str], tuple[float, str]] = field(default_factory=dict)

    def get(self, job_id: str, name: str, position: str, render: Callable[[], str]) -> str:
        """Return the fragment as it was rendered for somebody just now, else render it."""
        now = self.clock()
        key = (job_id, name, position)
        found = self._kept.get(key)
        if found is not None and now - found[0] < SECONDS:
            return found[1]
        html = render()
        if len(self._kept) >= MOST:
            self._kept.clear()
        self._kept[key] = (now, html)
        return html


shared_renders = SharedRenders()
