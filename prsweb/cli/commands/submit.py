"""``prs submit``: a job file becomes a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prsweb.cli.client import connect
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import DONE, NOTHING_DONE
from prsweb.cli.shared_options import api_command, set_option


@api_command
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@set_option
@click.option("--wait", is_flag=True, help="Show progress; exit with the job's outcome.")
@click.option("--dry-run", is_flag=True, help="Check it, show what would run, store nothing.")
@click.option("--name", help="Name of the job, in place of the file's.")
@click.option("--queue", help="Job queue, in place of the file's.")
@click.option("--private", is_flag=True, help="Only you, operators and admins see it.")
def submit(
    *,
    file: Path,
    settings: tuple[str, ...],
    wait: bool,
    dry_run: bool,
    name: str | None,
    queue: str | None,
    private: bool,
    server: str | None,
    as_json: bool,
) -> int:
    """Submit the job of FILE, ours or Azure's (v1, v2); paths are relative to the file."""
    from prsweb.cli.job_file import read_job_file
    from prsweb.cli.submission import prepare_example, read_settings, send_job

    changes = read_settings(settings)
    changes |= {k: v for k, v in (("name", name), ("queue", queue)) if v is not None}
    prepare_example(file)
    job_file = read_job_file(file, changes)
    client = connect(server)
    path = "/jobs/check" if dry_run else "/jobs"
    answer = send_job(client, job_file, is_private=private, path=path)
    for warning in answer.get("warnings") or ():
        say(f"warning: {warning}")
    if dry_run:
        return _show_check(answer, as_json)
    if not wait:
        print_json(answer) if as_json else print_result(_accepted(answer))
        return DONE
    return wait_and_show(client, answer, as_json)


def wait_and_show(client: Any, job: dict[str, Any], as_json: bool) -> int:
    """Wait for the job and print how it ended. Returns the exit status."""
    from prsweb.cli.failure import ENDED_BADLY
    from prsweb.cli.job_text import outcome_text
    from prsweb.cli.next_step import read_next_step
    from prsweb.cli.waiting import wait_for_job

    say(_accepted(job))
    ended = wait_for_job(client, str(job["id"]))
    if as_json:
        print_json(ended)
    else:
        print_result(outcome_text(ended, next_step=read_next_step(client, ended)))
    return DONE if ended["state"] == "SUCCEEDED" else ENDED_BADLY


def _accepted(job: dict[str, Any]) -> str:
    return f"job {job['id']} ({job['name']}): {job['url']}"


def _show_check(answer: dict[str, Any], as_json: bool) -> int:
    from prsweb.cli.job_file import invalid_job
    from prsweb.cli.submission import check_problems
    from runner.core.specs import write_job_file

    problems = check_problems(answer)
    if as_json:
        print_json(answer)
        return NOTHING_DONE if problems else DONE
    if problems:
        raise invalid_job(problems)
    print_result(write_job_file(answer["spec"]).rstrip())
    return DONE
