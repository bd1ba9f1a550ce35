"""Template tags: icons, states as icon + word + colour, times, durations, numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

# State code -> (style, icon of the sprite). Words come from the code itself.
STATE_LOOKS: dict[str, tuple[str, str]] = {
    "SUBMITTED": ("waiting", "clock"),
    "PENDING": ("waiting", "clock"),
    "RUNNABLE": ("waiting", "clock"),
    "STARTING": ("starting", "arrow-up"),
    "RUNNING": ("running", "player-play"),
    "CANCELLING": ("cancelled", "ban"),
    "SUCCEEDED": ("succeeded", "check"),
    "FAILED": ("failed", "x"),
    "CANCELLED": ("cancelled", "ban"),
    "LOST": ("lost", "ban"),
    "STOPPED": ("waiting", "minus"),
    "waiting": ("waiting", "clock"),
    "running": ("running", "player-play"),
    "retrying": ("retrying", "refresh"),
    "succeeded": ("succeeded", "check"),
    "partial": ("partial", "alert-triangle"),
    "failed": ("failed", "x"),
    "not_run": ("cancelled", "minus"),
    "cancelled": ("cancelled", "ban"),
    "online": ("succeeded", "check"),
    "late": ("retrying", "clock"),
    "lost": ("lost", "ban"),
    "draining": ("starting", "arrow-down"),
    "drained": ("waiting", "minus"),
}
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
    return format_html(
        '<span class="prs-state prs-is-{}">{}<span class="prs-state-word">{}</span></span>',
        state_look(state),
        state_dot(state),
        state_word(state),
    )


@register.simple_tag
def state_dot(state: str) -> SafeString:
    """The icon of a state on its colour, for places that have the word beside it."""
    look, icon_name = STATE_LOOKS.get(str(state), ("waiting", "minus"))
    return format_html(
        '<span class="prs-dot prs-is-{}" aria-hidden="true">{}</span>', look, icon(icon_name)
    )


@register.filter
def state_look(state: str) -> str:
    return STATE_LOOKS.get(str(state), ("waiting", "minus"))[0]


@register.filter
def state_word(state: str) -> str:
    """``SUCCEEDED`` as ``Succeeded``."""
    return STATE_WORDS.get(str(state), str(state).replace("_", " ").capitalize())


@register.filter
def duration(seconds: float | timedelta | None) -> str:
    """Two units at most: ``4 min 30 s``; a dash when unknown."""
    if seconds is None:
        return "–"
    value = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
    if value < 1:
        digits = 1 if 0 < value < 0.01 else 0
        return f"{value * 1000:.{digits}f} ms"
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


@register.simple_tag
def moment(at: datetime | None) -> SafeString:
    """A time as shown on pages, its full ISO value on hover and for scripts."""
    if at is None:
        return format_html("{}", "–")
    at = at.astimezone(UTC)
    iso = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    is_today = at.date() == timezone.now().astimezone(UTC).date()
    shown = at.strftime("%H:%M:%S" if is_today else "%d %b %H:%M")
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, iso, shown)


@register.filter
def byte_size(count: int | None) -> str:
    """``1.4 MiB``; a dash when unknown."""
    if count is None:
        return "–"
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
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
