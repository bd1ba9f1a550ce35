"""Jobs whose file was written for Azure: what only this installation can say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from prsweb.jobs.models import JobQueue
from runner.core.problems import Problem
from runner.core.specs import ImportedDocument
from runner.core.specs.draft import draft_of
from runner.core.specs.paths import parse_path

DEFAULT_QUEUE = "default"
SET_QUEUE = "queue"  # spelled as we do: the queue does not come from the file


def with_known_queue(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document; a compute of Azure that is no queue here becomes the default
    queue, with a warning. A queue that somebody set stays, to be refused."""
    queue = document.get("queue")
    if not isinstance(document, ImportedDocument) or not isinstance(queue, str):
        return document
    written = document.spelled.get(("queue",), SET_QUEUE)
    if written == SET_QUEUE or JobQueue.objects.filter(name=queue).exists():
        return document
    changed = document.copy_of({**document, "queue": DEFAULT_QUEUE})
    changed.warnings.append(
        f"{written}: {queue} is no queue here; the job goes to the queue {DEFAULT_QUEUE}."
    )
    return changed


def as_written(problems: Sequence[Problem], document: Mapping[str, Any]) -> list[Problem]:
    """Return the problems with the paths of the file that they were written in."""
    if not isinstance(document, ImportedDocument):
        return list(problems)
    draft = draft_of(document)
    return [
        replace(one, path=draft.path_of(location))
        if (location := parse_path(one.path))
        else one
        for one in problems
    ]
