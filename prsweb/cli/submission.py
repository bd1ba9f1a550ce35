"""Send a job: its file, its code, the changes of the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prsweb.cli.archive import pack
from prsweb.cli.client import ApiClient
from prsweb.cli.console import say
from prsweb.cli.failure import CommandFailed, Problem
from prsweb.cli.job_file import JobFile
from prsweb.paths import CHECKOUT
from runner.core.specs import ImportedDocument

EXAMPLES = CHECKOUT / "examples"


def read_settings(texts: Sequence[str]) -> dict[str, str]:
    """Return ``--set KEY=VALUE …`` as a map. Raises CommandFailed."""
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise CommandFailed(f"--set {text}: must be KEY=VALUE, as --set run_max_try=5")
        settings[key.strip()] = value
    return settings


def prepare_example(path: Path) -> None:
    """Run the ``prepare.py`` of an example of this checkout: it makes its input."""
    script = Path(os.path.realpath(path)).parent / "prepare.py"
    if not script.is_relative_to(EXAMPLES) or not script.is_file():
        return
    say(f"preparing the example's input: {script.relative_to(CHECKOUT)}")
    done = subprocess.run([sys.executable, str(script)], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise CommandFailed(f"{script} ended with exit code {done.returncode}; see above")


def send_job(
    client: ApiClient,
    job: JobFile,
    *,
    is_private: bool = False,
    path: str = "/jobs",
) -> dict[str, Any]:
    """Return the API's answer: the new job, or of ``/jobs/check`` what it would be."""
    body: dict[str, Any] = {"spec": job.spec, "private": is_private}
    if isinstance(job.spec, ImportedDocument):
        body["imported"] = job.spec.notes()
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    if job.source is None:
        answer: dict[str, Any] = client.post(path, body, headers=headers)
    else:
        form = {key: json.dumps(value) for key, value in body.items()}
        with pack(job.source) as archive:
            files = {"source": ("source.tar.gz", archive, "application/gzip")}
            answer = client.post(path, data=form, files=files, headers=headers)
    return answer


def check_problems(answer: Mapping[str, Any]) -> tuple[Problem, ...]:
    return tuple(
        Problem(str(one["path"]), str(one["rule"]), str(one.get("found") or ""))
        for one in answer.get("problems") or ()
    )
