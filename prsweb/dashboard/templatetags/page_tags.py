"""Template tags: icons, states as icon + word + colour, times, durations, numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from prsweb.jobs.filters import Filter
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.processes import ProcessView
from prsweb.jobs.selectors.progress import JobProgress

register = template.Library()

# State code -> (style, icon of the sprite). Words come from the code itself.
STATE_LOOKS: dict[str, tuple[str, str]] = {
    "SUBMITTED": ("waiting", "clock"),
    "PENDING": ("waiting", "clock"),
    "RUNNABLE": ("waiting", "clock"),
    "STARTING": ("starting", "arrow-up"),
    "RUNNING": ("running", "player-play"),
    "SUCCEEDED": ("succeeded", "check"),
    "FAILED": ("failed", "x"),
    "CANCELLED": ("cancelled", "ban"),
    "LOST": ("lost", "ban"),
    "waiting": ("waiting", "clock"),
    "running": ("running", "player-play"),
    "retrying": ("retrying", "refresh"),
    "succeeded": ("succeeded", "check"),
    "partial": ("partial", "alert-triangle"),
    "failed": ("failed", "x"),
    "not_run": ("cancelled", "minus"),
    "online": ("succeeded", "check"),
    "late": ("retrying", "clock"),
    "lost": ("lost", "ban"),
    "draining": ("starting", "arrow-up"),
    "drained": ("waiting", "minus"),
}
KIND_WORDS = {
    "parallel_run_step": "ParallelRunStep",
    "multi_node": "multi-node",
    "command": "command",
}
# What a worker process does, in the word of its cell.
PHASE_WORDS = {
    "starting": "starting",
    "init": "in init()",
    "idle": "waiting for work",
    "load": "loading",
    "run": "running",
    "write": "writing",
    "written": "running",
    "shutdown": "in shutdown()",
    "ended": "ended",
    "died": "died",
    "lost": "lost",
}
_IN_BACKTICKS = re.compile(r"`([^`]+)`")
STATE_WORDS = {
    "RUNNABLE": "Waiting for nodes",
    "PENDING": "Waiting for jobs",
    "retrying": "To be tried again",
    "not_run": "Not run",
}
THEMES = ("light", "dark")


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon of the sprite; it says nothing to a screen reader, the word beside it does."""
    sprite = static("vendor/icons.svg")
    return format_html(
        '<svg class="prs-icon" aria-hidden="true"><use href="{}#{}"></use></svg>',
        sprite,
        name,
    )


@register.simple_tag
def state_badge(state: str) -> SafeString:
    """A state as icon, word and colour. An unknown one shows its code."""
    look, icon_name = STATE_LOOKS.get(str(state), ("waiting", "minus"))
    return format_html(
        '<span class="prs-state prs-is-{}"><span class="prs-dot">{}</span>{}</span>',
        look,
        icon(icon_name),
        state_word(state),
    )


@register.filter
def state_word(state: str) -> str:
    """``SUCCEEDED`` as ``Succeeded``."""
    return STATE_WORDS.get(str(state), str(state).replace("_", " ").capitalize())


@register.filter
def duration(seconds: float | timedelta | None) -> str:
    """Two units at most: ``4 min 30 s``; ``-`` when unknown."""
    if seconds is None:
        return "–"
    value = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


@register.filter
def micro_duration(microseconds: int | None) -> str:
    return duration(None if microseconds is None else microseconds / 1e6)


@register.simple_tag
def moment(at: datetime | None) -> SafeString:
    """A time as shown on pages, its full ISO value on hover and for scripts."""
    if at is None:
        return format_html("–")
    iso = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', iso, iso, at.strftime("%d %b %H:%M:%S")
    )


@register.filter
def byte_size(count: int | None) -> str:
    """``1.4 MiB``; ``-`` when unknown."""
    if count is None:
        return "–"
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


@register.filter
def thousands(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


@register.filter
def theme_name(theme: str | None) -> str:
    """The theme of a cookie; anything else is light."""
    return theme if theme in THEMES else "light"


@register.filter
def other_theme(theme: str | None) -> str:
    return "light" if theme == "dark" else "dark"


@register.filter
def kind_word(kind: str) -> str:
    return KIND_WORDS.get(kind, kind)


@register.filter
def phase_word(phase: str) -> str:
    return PHASE_WORDS.get(phase, phase)


@register.filter
def setting_names(sentence: str) -> SafeString:
    """A sentence with its setting names, written in backticks, as code."""
    return mark_safe(_IN_BACKTICKS.sub(r"<code>\1</code>", escape(sentence)))


@register.filter
def job_duration(job: Job) -> timedelta:
    """From submission to the end, or to now."""
    return (job.ended_at or timezone.now()) - job.submitted_at


@register.filter
def parts(progress: JobProgress) -> list[tuple[str, int]]:
    """State and count of every part that is not empty; together they are ``created``."""
    counts = (
        ("waiting", progress.waiting),
        ("running", progress.running),
        ("retrying", progress.retrying),
        ("succeeded", progress.succeeded),
        ("partial", progress.partial),
        ("failed", progress.failed),
        ("not_run", progress.not_run),
    )
    return [(word, count) for word, count in counts if count or word == "succeeded"]


@register.filter
def share(progress: JobProgress, part: str) -> str:
    """The part of a bar in percent: ``succeeded``, ``running``, or ``bad``."""
    if not progress.created:
        return "0"
    bad = progress.failed + progress.partial
    count = bad if part == "bad" else getattr(progress, part)
    return f"{100 * count / progress.created:.2f}"


@register.filter
def file_name(path: str) -> str:
    return PurePosixPath(path).name


@register.filter
def short_process(process: str | None) -> str:
    """``p05`` for ``process005``."""
    return f"p{int(process.removeprefix('process')):02d}" if process else "–"


@register.filter
def process_log(process: ProcessView) -> str:
    """The path below logs/ of what the process did."""
    return f"sys/node/{process.node}/process{process.number:03d}.txt"


@register.filter
def words(text: str) -> list[str]:
    return text.split()


@register.filter
def query_without(wanted: Filter, member: str) -> str:
    return urlencode(wanted.query(**{member: None}))


@register.filter
def query_with_after(wanted: Filter, cursor: str) -> str:
    return urlencode(wanted.query(after=cursor))
