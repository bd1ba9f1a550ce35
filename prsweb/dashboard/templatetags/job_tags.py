"""Template tags about jobs: names, shares of a bar, where a log lies, links of lists."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlencode

from django import template
from django.utils import timezone
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from prsweb.jobs.filters import Filter
from prsweb.jobs.models import Job
from prsweb.jobs.selectors.jobs import is_cancelling
from prsweb.jobs.selectors.log_names import node_log
from prsweb.jobs.selectors.nodes import JobNodeView
from prsweb.jobs.selectors.progress import JobProgress
from runner.core.specs.formats import MODELS

register = template.Library()

KIND_WORDS = {
    "parallel_run_step": "ParallelRunStep",
    "multi_node": "Multi-node",
    "command": "Command",
}
BAR_PARTS = ("succeeded", "partial", "failed", "running", "retrying")
PARTS = ("waiting", "running", "retrying", "succeeded", "partial", "failed", "not_run")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@register.filter
def kind_word(kind: str) -> str:
    return KIND_WORDS.get(kind, kind)


@register.filter
def shown_state(job: Job) -> str:
    """The state's code; ``CANCELLING`` while something of a cancelled job is left."""
    return "CANCELLING" if is_cancelling(job) else job.state


@register.filter
def job_seconds(job: Job) -> float:
    """From submission to the end, or to now."""
    return ((job.ended_at or timezone.now()) - job.submitted_at).total_seconds()


@register.filter
def parts(progress: JobProgress) -> list[tuple[str, int]]:
    """State and number of mini-batches; all but ``not_run`` and ``partial``, which
    stand only where there are any."""
    rare = ("partial", "not_run", "retrying")
    counts = [(state, getattr(progress, state)) for state in PARTS]
    return [(state, count) for state, count in counts if count or state not in rare]


@register.filter
def bar_parts(progress: JobProgress) -> list[tuple[str, int, str]]:
    """State, number and percent of each part of the bar; percents as CSS reads them."""
    if not progress.created:
        return []
    counts = [(state, getattr(progress, state)) for state in BAR_PARTS]
    return [
        (state, count, f"{100 * count / progress.created:.4f}")
        for state, count in counts
        if count
    ]


@register.filter
def bar_words(progress: JobProgress) -> str:
    """The bar for those who do not see it."""
    words = [f"{count:,} {state.replace('_', ' ')}" for state, count in parts(progress)]
    return f"{', '.join(words)} of {progress.created:,} mini-batches"


@register.filter
def short_process(process: str | None) -> str:
    """``process005`` as ``p05``."""
    return f"p{int(process.removeprefix('process')):02d}" if process else ""


@register.filter
def file_name(path: str) -> str:
    return path.rpartition("/")[2]


@register.filter
def last_state(line: str) -> str:
    """A line as it stood last on a terminal, without colours and control codes."""
    states = [state for state in _ESCAPES.sub("", line).split("\r") if state]
    return _CONTROLS.sub("", states[-1]) if states else ""


@register.simple_tag
def log_of_node(job: Job, node: JobNodeView) -> str:
    """The path of what the node's command wrote; "" where there is none."""
    return node_log(job, node) or ""


@register.filter(is_safe=True)
def setting_names(text: str) -> SafeString:
    """Put names of settings into ``<code>``; all else is escaped."""
    escaped = conditional_escape(text)
    return mark_safe(_setting_pattern().sub(r"<code>\1</code>", escaped))


@cache
def _setting_pattern() -> re.Pattern[str]:
    names = {name for model in MODELS.values() for name in model.model_fields if "_" in name}
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w&.])({'|'.join(map(re.escape, longest_first))})(?![\w.])")


@register.filter
def query_without(wanted: Filter, name: str) -> str:
    return urlencode(wanted.query(**{name: None}))


@register.filter
def query_with_after(wanted: Filter, cursor: str) -> str:
    return urlencode(wanted.query(after=cursor))
