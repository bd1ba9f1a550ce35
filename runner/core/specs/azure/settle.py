"""What can be settled only when parameters and settings stand in an imported document."""

from __future__ import annotations

import re

from runner.core.specs.draft import Draft

_SIZE = re.compile(r"([1-9][0-9]{0,17})([kKmMgG])[bB]")
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}


def settle_size(draft: Draft) -> None:
    """Read a size with a unit as a number of files where the input is files.

    Source: Azure reads ``1KB`` of a file input as 1024 files.
    """
    inputs = draft.document.get("inputs")
    first = inputs[0] if isinstance(inputs, list) and inputs else None
    size = draft.document.get("mini_batch_size")
    if not isinstance(first, dict) or first.get("type", "files") != "files":
        return
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if match is not None:
        count = int(match[1]) * _UNITS[match[2].lower()]
        draft.document["mini_batch_size"] = count
        path = draft.path_of(("mini_batch_size",))
        draft.warnings.append(f"{path}: {size} of a file input is read as {count} files.")
