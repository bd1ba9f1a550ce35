"""``prs nodes``: the nodes, and taking one out of service."""

from __future__ import annotations

from typing import Any

import click

from prsweb.cli.client import connect, segment
from prsweb.cli.console import print_json, print_result
from prsweb.cli.shared_options import api_command


@api_command
@click.argument("action", type=click.Choice(["drain", "undrain"]), required=False)
@click.argument("name", required=False)
@click.option("--state", help="In this state, as online.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True)
def nodes(
    *,
    action: str | None,
    name: str | None,
    state: str | None,
    limit: int,
    server: str | None,
    as_json: bool,
) -> None:
    """List the nodes.

    ``nodes drain NAME`` lets a node end its job and gives it no other one;
    ``nodes undrain NAME`` takes that back.
    """
    if action is not None and name is None:
        raise click.UsageError(f"nodes {action} needs the NAME of a node")
    client = connect(server)
    if action is not None and name is not None:
        node = client.post(f"/nodes/{segment(name)}/{action}")
        print_json(node) if as_json else print_result(f"node {node['name']}: {node['state']}")
        return
    page = client.list_page("/nodes", limit=limit, state=state)
    print_json(page) if as_json else print_result(_table(page["items"]))


def _table(nodes: list[dict[str, Any]]) -> str:
    from prsweb.cli.table import Column, render
    from prsweb.cli.words import or_dash

    columns = (
        Column("name"),
        Column("state"),
        Column("address"),
        Column("vcpus", is_number=True),
        Column("memory MiB", is_number=True),
        Column("gpus", is_number=True),
        Column("job"),
        Column("last beat", is_number=True),
    )
    rows = [
        (
            str(node["name"]),
            str(node["state"]).capitalize(),
            or_dash(node.get("address")),
            or_dash(node.get("vcpus")),
            or_dash(node.get("memory_mib")),
            or_dash(node.get("gpus")),
            str(node["job"])[:8] if node.get("job") else "-",
            _age(node.get("beat_age_seconds")),
        )
        for node in nodes
    ]
    return render(columns, rows)


def _age(seconds: float | None) -> str:
    from prsweb.cli.words import duration

    return "never" if seconds is None else f"{duration(seconds)} ago"
