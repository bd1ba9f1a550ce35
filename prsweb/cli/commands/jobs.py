"""``prs jobs``: the list of jobs."""

from __future__ import annotations

import click

from prsweb.cli.client import connect
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.shared_options import api_command


@api_command
@click.option("--state", help="Of this state, as failed; several with commas.")
@click.option("--kind", help="Of this kind, as multi_node; several with commas.")
@click.option("--owner", help="Of this person; me for your own.")
@click.option("--since", help="Submitted since, as 24h, 7d or a time.")
@click.option("--queue", help="In this job queue.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
def jobs(
    *,
    state: str | None,
    kind: str | None,
    owner: str | None,
    since: str | None,
    queue: str | None,
    limit: int,
    server: str | None,
    as_json: bool,
) -> None:
    """List jobs, newest first."""
    page = connect(server).list_page(
        "/jobs", limit=limit, state=state, kind=kind, owner=owner, since=since, queue=queue
    )
    if as_json:
        print_json(page)
        return
    from prsweb.cli.job_text import jobs_table

    print_result(jobs_table(page["items"]))
    if page["next"]:
        say(f"The newest {limit} are shown; --limit shows more.")
