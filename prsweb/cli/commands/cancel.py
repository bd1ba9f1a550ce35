"""``prs cancel``: end a job."""

from __future__ import annotations

import click

from prsweb.cli.client import connect, segment
from prsweb.cli.console import print_json, print_result
from prsweb.cli.job_reference import find_job_id
from prsweb.cli.shared_options import api_command, job_argument

DEFAULT_REASON = "cancelled from the command line"


@api_command
@job_argument
@click.option("--reason", default=DEFAULT_REASON, show_default=True, help="Kept with the job.")
def cancel(*, job: str, reason: str, server: str | None, as_json: bool) -> None:
    """Cancel JOB; what it has recorded stays."""
    client = connect(server)
    job_id = find_job_id(client, job)
    cancelled = client.post(f"/jobs/{segment(job_id)}/cancel", {"reason": reason})
    if as_json:
        print_json(cancelled)
        return
    from prsweb.cli.words import state_word

    print_result(f"job {cancelled['id']} ({cancelled['name']}): {state_word(cancelled)}")
