"""``prs show``: one job."""

from __future__ import annotations

from prsweb.cli.client import connect
from prsweb.cli.console import print_json, print_result
from prsweb.cli.job_reference import find_job_id, get_job
from prsweb.cli.shared_options import api_command, job_argument


@api_command
@job_argument
def show(*, job: str, server: str | None, as_json: bool) -> None:
    """Say what happened to JOB: its outcome, its counts, its errors."""
    client = connect(server)
    found = get_job(client, find_job_id(client, job))
    if as_json:
        print_json(found)
        return
    from prsweb.cli.job_text import job_text
    from prsweb.cli.next_step import read_next_step

    print_result(job_text(found, next_step=read_next_step(client, found)))
