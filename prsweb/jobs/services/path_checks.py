"""Paths that a specification names: allowed, there, readable, writable."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from prsweb.accounts.models import User
from prsweb.jobs.models import Job
from prsweb.jobs.services.input_roots import is_allowed, roots_rule
from runner.core.problems import Problem, found_text
from runner.core.states import TERMINAL_STATES

# How long one path is looked at; what is not found by then is found by the job.
LOOK_SECONDS = 1.0
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


Check = Callable[[str, str, User], Iterator[Problem]]


def tells_refusals(check: Check) -> Check:
    """Let ``check`` tell what the system says of the path itself, as any other problem:
    a name that is too long, a folder on the way without right."""

    @wraps(check)
    def told(where: str, text: str, user: User) -> Iterator[Problem]:
        try:
            yield from check(where, text, user)
        except OSError as error:
            rule = f"cannot be looked at: {error.strerror or error}"
            yield Problem(where, rule, found_text(text))

    return told


def check_inputs(spec: Mapping[str, Any], user: User) -> Iterator[Problem]:
    """Try each input once: list its first entry, and open it."""
    if spec.get("rank_mini_batch_count"):
        return
    for number, one in enumerate(spec.get("inputs") or ()):
        path = one.get("path")
        if path is None:
            continue
        where = f"inputs[{number}].path"
        paths = path if isinstance(path, list) else [path]
        for place, text in enumerate(paths):
            whose = f"{where}[{place}]" if isinstance(path, list) else where
            yield from check_input_path(whose, text, user)


def check_staged(spec: Mapping[str, Any], user: User) -> Iterator[Problem]:
    """Side inputs and models: files or folders that are there."""
    for key in ("side_inputs", "models"):
        for name, one in (spec.get(key) or {}).items():
            yield from check_input_path(f"{key}.{name}.path", one["path"], user)


def check_outputs(spec: Mapping[str, Any], user: User) -> Iterator[Problem]:
    """Folders that results go to: allowed and writable, the file not there yet."""
    output = spec.get("output") or {}
    if output.get("path"):
        problems = list(_check_output_folder("output.path", output["path"], user))
        yield from problems
        file = Path(output["path"]) / str(spec.get("append_row_file_name"))
        is_written = not problems and spec.get("output_action") == "append_row"
        if is_written and file.exists() and not output.get("overwrite"):
            rule = f"holds {file.name} already; output.overwrite: true would replace it"
            yield Problem("output.path", rule, found_text(output["path"]))
        elif is_written and not output.get("overwrite") and _is_awaited(file):
            rule = f"another job that has not ended will write {file.name} there"
            yield Problem("output.path", rule, found_text(output["path"]))
    for name, one in (spec.get("outputs") or {}).items():
        if one and one.get("path"):
            yield from _check_output_folder(f"outputs.{name}.path", one["path"], user)


def _is_awaited(file: Path) -> bool:
    """Whether a job that has not ended puts its output there."""
    jobs = Job.objects.exclude(state__in=TERMINAL_STATES)
    folder = os.path.realpath(file.parent)
    outputs = jobs.filter(spec__append_row_file_name=file.name).values_list(
        "spec__output", flat=True
    )
    return any(
        one.get("path") and os.path.realpath(one["path"]) == folder for one in outputs if one
    )


@tells_refusals
def check_input_path(where: str, text: str, user: User) -> Iterator[Problem]:
    """Check a file, a folder or a glob."""
    if problem := _local_path_problem(where, text):
        yield problem
        return
    base = _before_wildcards(text)
    if not is_allowed(base, user):
        yield Problem(where, roots_rule(), found_text(text))
        return
    try:
        first = _first_file(text)
        if first is not None and is_allowed(first, user):
            with first.open("rb"):
                pass
    except OSError as error:
        reason = error.strerror or str(error)
        named = f" ({error.filename})" if error.filename not in (None, text) else ""
        yield Problem(where, f"cannot be read: {reason}{named}", found_text(text))


@tells_refusals
def check_folder(where: str, text: str, user: User) -> Iterator[Problem]:
    """Check a folder of code on this server."""
    if problem := _local_path_problem(where, text):
        yield problem
    elif not is_allowed(Path(text), user):
        yield Problem(where, roots_rule(), found_text(text))
    elif not Path(text).is_dir():
        yield Problem(where, "must be an existing folder", found_text(text))


@tells_refusals
def _check_output_folder(where: str, text: str, user: User) -> Iterator[Problem]:
    if problem := _local_path_problem(where, text):
        yield problem
        return
    path = Path(text)
    if not is_allowed(path, user):
        yield Problem(where, roots_rule(), found_text(text))
        return
    existing = next(one for one in (path, *path.parents) if one.exists())
    if not existing.is_dir():
        yield Problem(where, f"must be a folder; {existing} is a file", found_text(text))
    elif not os.access(existing, os.W_OK | os.X_OK):
        yield Problem(where, f"cannot be written: no right to {existing}", found_text(text))


def _local_path_problem(where: str, text: str) -> Problem | None:
    if text.startswith(("dataset:", "datastore:")):
        rule = "no dataset or datastore of that name is registered here; give a path"
        return Problem(where, rule, found_text(text))
    if _REMOTE.match(text):
        rule = "only paths of this server are read so far; copy the data and give its path"
        return Problem(where, rule, found_text(text))
    if "\0" in text or not text.startswith("/"):
        return Problem(where, "must be an absolute path", found_text(text))
    return None


def _before_wildcards(text: str) -> Path:
    """Return the folder that a glob begins in; a path without wildcards itself."""
    if not glob.has_magic(text) or Path(text).exists():
        return Path(text)
    parts = Path(text).parts
    plain = [part for part in parts if not glob.has_magic(part)]
    fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return Path(*plain[:fixed])


def _first_file(text: str) -> Path | None:
    """Return a file that the path gives; None when none was met in time.

    Raises OSError for what is not there or cannot be listed.
    """
    path = Path(text)
    if path.exists() or not glob.has_magic(text):
        path.stat()
        return path if path.is_file() else _first_below(path)
    base = _before_wildcards(text)
    base.stat()
    deadline = time.monotonic() + LOOK_SECONDS
    for found in glob.iglob(text, recursive=True):  # noqa: PTH207 -- the pattern is absolute
        if Path(found).is_file():
            return Path(found)
        if time.monotonic() > deadline:
            break
    return None


def _first_below(folder: Path) -> Path | None:
    deadline = time.monotonic() + LOOK_SECONDS
    next(folder.iterdir(), None)  # says what os.walk would keep to itself
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and (Path(parent) / name).is_file():
                return Path(parent) / name
        if time.monotonic() > deadline:
            return None
    return None
