"""Numbers, times and states as a person reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

KIND_WORDS = {
    "parallel_run_step": "parallel run step",
    "multi_node": "multi-node",
    "command": "command",
}
BYTE_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def state_word(job: dict[str, Any]) -> str:
    """Return ``Failed`` for FAILED; a job that is being cancelled says so."""
    if job.get("cancelling"):
        return "Cancelling"
    return str(job["state"]).capitalize()


def kind_word(kind: str) -> str:
    return KIND_WORDS.get(kind, kind)


def duration(seconds: float | None) -> str:
    """Return ``4.2 s`` or ``1:02:03``; a dash for None."""
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def byte_size(count: float) -> str:
    for unit in BYTE_UNITS:
        if count < 1024 or unit == BYTE_UNITS[-1]:
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"


def moment(text: str | None) -> str:
    """Return a time of the API in local time, to the second; a dash for None."""
    if not text:
        return "-"
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def or_dash(value: Any) -> str:
    return "-" if value is None or value == "" else str(value)
