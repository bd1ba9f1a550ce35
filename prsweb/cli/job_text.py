"""A job in plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prsweb.cli.table import Column, printable, render
from prsweb.cli.words import duration, kind_word, moment, or_dash, state_word

Json = dict[str, Any]

JOB_COLUMNS = (
    Column("id"),
    Column("name"),
    Column("kind"),
    Column("state"),
    Column("mini-batches", is_number=True),
    Column("items", is_number=True),
    Column("failed items", is_number=True),
    Column("owner"),
    Column("submitted"),
    Column("took", is_number=True),
    Column("why"),
)
WAITING = ("SUBMITTED", "PENDING", "RUNNABLE")


def jobs_table(jobs: list[Json]) -> str:
    return render(JOB_COLUMNS, [_row(job) for job in jobs])


def _row(job: Json) -> list[str]:
    why = job.get("reason") if job["state"] in (*WAITING, "FAILED", "CANCELLED") else None
    return [
        str(job["id"])[:8],
        str(job["name"]),
        kind_word(str(job["kind"])),
        state_word(job),
        or_dash(job.get("mini_batches")),
        or_dash(job.get("items")),
        or_dash(job.get("failed_items")),
        or_dash(job.get("owner")),
        moment(job.get("submitted_at")),
        duration(job.get("seconds")),
        or_dash(why),
    ]


def job_text(job: Json, *, next_step: str | None = None) -> str:
    """Return what happened in one sentence, then the facts, then the errors."""
    lines = [_headline(job), ""]
    warnings = (("Warning", text) for text in job.get("warnings") or ())
    facts = [*_facts(job), *warnings, ("Do next", next_step)]
    lines += [f"{name + ':':15} {printable(str(value))}" for name, value in facts if value]
    for group in job.get("top_errors") or ():
        lines += ["", *_error_lines(group)]
    return "\n".join(lines)


def _headline(job: Json) -> str:
    text = (job.get("headline") or {}).get("text")
    return printable(str(text or f"{state_word(job)}: {or_dash(job.get('reason'))}"))


def _facts(job: Json) -> Iterator[tuple[str, Any]]:
    yield "Job", f"{job['id']} ({job['name']}, {kind_word(str(job['kind']))})"
    yield "State", state_word(job)
    yield "Reason", job.get("reason")
    yield "Status reason", job.get("status_reason")
    yield "Cause", job.get("cause")
    yield "Decided by", job.get("decided_by")
    yield "Mini-batches", _mini_batches(job)
    yield "Items", _items(job)
    yield "Nodes", ", ".join(job.get("nodes") or ())
    yield "Owner", job.get("owner")
    yield "Submitted", moment(job.get("submitted_at"))
    yield "Took", duration(job.get("seconds"))
    yield "Attempt", f"{job.get('attempt')} of {job.get('attempt_limit')}"
    yield "Resubmitted of", job.get("resubmitted_from")
    for change in job.get("changes") or ():
        yield "Changed", f"{change['path']}: {change['old']} -> {change['new']}"
    yield "Output", job.get("output") or job.get("output_folder")
    yield "Folder", job.get("folder")
    yield "Page", job.get("url")


def _mini_batches(job: Json) -> str | None:
    progress = job.get("progress")
    if not progress or job.get("mini_batches") is None:
        return None
    shown = ("waiting", "running", "retrying", "succeeded", "partial", "failed", "not_run")
    parts = [
        f"{progress[word]} {word.replace('_', ' ')}" for word in shown if progress.get(word)
    ]
    return ", ".join([f"{job['mini_batches']} in all", *parts])


def _items(job: Json) -> str | None:
    if job.get("items") is None:
        return None
    return (
        f"{job['items']} in all, {job.get('succeeded_items')} succeeded, "
        f"{job.get('failed_items')} failed"
    )


def _error_lines(group: Json) -> Iterator[str]:
    at = f" at {group['place']}" if group.get("place") else ""
    yield (
        f"{group.get('count')} x {printable(str(group.get('title')))}{at}"
        f" (mini-batches: {or_dash(group.get('mini_batches'))}, "
        f"nodes: {', '.join(sorted(group.get('nodes') or ())) or '-'})"
    )
    for line in str(group.get("traceback") or "").splitlines():
        yield f"    {printable(line)}"


def outcome_text(job: Json, *, next_step: str | None = None) -> str:
    """Return the last words of a job that was waited for: state, reason, first error,
    what to do next."""
    lines = [f"{job['name']}: {_headline(job)}"]
    if job["state"] != "SUCCEEDED":
        lines.append(f"  Reason: {printable(or_dash(job.get('reason')))}")
        for group in (job.get("top_errors") or ())[:1]:
            lines += [f"  {line}" for line in _error_lines(group)]
        if next_step:
            lines.append(f"  What to do next: {printable(next_step)}")
        short_id = str(job["id"])[:8]
        lines.append(f"  More: ./prs show {short_id}, ./prs logs {short_id}, {job.get('url')}")
    return "\n".join(lines)
