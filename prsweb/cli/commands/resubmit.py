"""``prs resubmit``: a new job from an old one."""

from __future__ import annotations

import click

from prsweb.cli.client import connect, segment
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import DONE
from prsweb.cli.job_reference import find_job_id
from prsweb.cli.shared_options import api_command, job_argument, set_option


@api_command
@job_argument
@set_option
@click.option(
    "--failed-only",
    is_flag=True,
    help="Take over what succeeded, run the rest; not offered yet.",
)
@click.option("--wait", is_flag=True, help="Show progress; exit with the job's outcome.")
def resubmit(
    *,
    job: str,
    settings: tuple[str, ...],
    failed_only: bool,
    wait: bool,
    server: str | None,
    as_json: bool,
) -> int:
    """Submit JOB again as a new job, with what --set changes."""
    from prsweb.cli.submission import read_settings

    changes = read_settings(settings)
    client = connect(server)
    job_id = find_job_id(client, job)
    body = {"set": changes, "failed_only": failed_only}
    new = client.post(f"/jobs/{segment(job_id)}/resubmit", body)
    for warning in new.get("warnings") or ():
        say(f"warning: {warning}")
    if wait:
        from prsweb.cli.commands.submit import wait_and_show

        return wait_and_show(client, new, as_json)
    if as_json:
        print_json(new)
    else:
        print_result(f"job {new['id']} ({new['name']}): {new['url']}")
    return DONE
