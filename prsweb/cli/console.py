"""The two streams: results on standard output, everything else on standard error.

A terminal that was closed takes no more text; that never ends a command.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any


def print_result(text: str) -> None:
    print(text, flush=True)


def print_json(value: Any) -> None:
    """The one value that standard output holds with ``--json``."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def say(text: str) -> None:
    """Progress, warnings and prose."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
