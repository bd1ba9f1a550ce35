"""``prs errors``: what went wrong in a job, grouped by cause."""

from __future__ import annotations

from typing import Any

import click

from prsweb.cli.client import connect, segment
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.job_reference import find_job_id
from prsweb.cli.shared_options import api_command, job_argument


@api_command
@job_argument
@click.option("--kind", help="Of this kind, as exception or timeout.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
def errors(
    *, job: str, kind: str | None, limit: int, server: str | None, as_json: bool
) -> None:
    """List the error groups of JOB, the largest first."""
    client = connect(server)
    job_id = find_job_id(client, job)
    page = client.list_page(f"/jobs/{segment(job_id)}/errors", limit=limit, kind=kind)
    if as_json:
        print_json(page)
        return
    print_result(_table(page["items"]))
    if not page["items"]:
        of_kind = f" of kind {kind}" if kind else ""
        say(f"No errors{of_kind} are recorded; ./prs logs {job} prints what the job wrote.")


def _table(groups: list[dict[str, Any]]) -> str:
    from prsweb.cli.table import Column, render
    from prsweb.cli.words import or_dash

    columns = (
        Column("count", is_number=True),
        Column("mini-batches", is_number=True),
        Column("kind"),
        Column("place"),
        Column("nodes"),
        Column("error"),
        Column("fingerprint"),
    )
    rows = [
        (
            str(group["count"]),
            or_dash(group.get("mini_batches")),
            or_dash(group.get("kind")),
            or_dash(group.get("place")),
            ",".join(sorted(group.get("nodes") or ())) or "-",
            str(group["title"]),
            str(group["fingerprint"]),
        )
        for group in groups
    ]
    return render(columns, rows)
