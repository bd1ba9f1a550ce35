"""One-time keys of forms: a double click or a reload makes one job."""

from __future__ import annotations

import re
import uuid

from django.http import HttpRequest

SENT_BEFORE = "this form made a job already; what it holds now would be another: send it again"
_KEY = re.compile(r"[0-9a-f]{1,64}")


def once_of(request: HttpRequest) -> str:
    """Return the key that came with the form, or a new one."""
    once = request.POST.get("once", "")
    return once if _KEY.fullmatch(once) else new_once()


def new_once() -> str:
    return uuid.uuid4().hex


def key_of(once: str) -> str:
    """Return the idempotency key, which no API client sends by chance."""
    return f"form-{once}"
