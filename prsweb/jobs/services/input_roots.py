"""Which paths of this server a job may name."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from prsweb.accounts.models import User
from prsweb.jobs.selectors.jobs import NoSuchJob, get_job
from runner.core.safe_path import is_below

JOB_OUTPUT = "output"


def is_allowed(path: Path, user: User) -> bool:
    """Whether ``path``, links followed, may be read for a job of ``user``.

    Below PRSWEB_HOME only uploads and the outputs of jobs that the user may see
    count, whatever the roots say: the rest holds other people's data and keys.
    """
    home = settings.PRSWEB_HOME
    if not is_below(path, [home.root.resolve()]):
        return is_below(path, settings.PRSWEB_INPUT_ROOTS)
    if is_below(path, [home.uploads.resolve()]):
        return True
    inside = path.resolve().relative_to(home.root.resolve()).parts
    if len(inside) < 3 or inside[0] != home.jobs.name or inside[2] != JOB_OUTPUT:
        return False
    try:
        get_job(user, inside[1])
    except NoSuchJob:
        return False
    return True


def roots_rule() -> str:
    roots = ", ".join(map(str, settings.PRSWEB_INPUT_ROOTS)) or "none is set"
    return (
        f"must lie below a folder that the server allows ({roots});"
        " PRSWEB_INPUT_ROOTS names others when ./prs up starts"
    )
