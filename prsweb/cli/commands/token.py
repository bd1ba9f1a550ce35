"""``prs token``: what programs sign in with."""

from __future__ import annotations

from typing import Any

import click

from prsweb.cli.client import connect, segment
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.shared_options import api_command

SCOPES = ("read", "submit", "operate", "admin")


@click.group()
def token() -> None:
    """Make, list and revoke API tokens."""


@api_command
@click.option("--name", default="command line", show_default=True, help="What it is for.")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="submit",
    show_default=True,
    help="What it may do; never more than your role.",
)
@click.option("--days", type=click.IntRange(min=1), help="Ends after so many days.")
def create(
    *, name: str, scope: str, days: int | None, server: str | None, as_json: bool
) -> None:
    """Make a token; it is shown only now."""
    body = {"name": name, "scope": scope, "days": days}
    new = connect(server).post("/tokens", body)
    if as_json:
        print_json(new)
        return
    print_result(str(new["token"]))
    say(f"token {new['id']} ({new['name']}, {new['scope']}); it is not shown again")


@api_command
def list_tokens(*, server: str | None, as_json: bool) -> None:
    """List your tokens."""
    page = connect(server).list_page("/tokens")
    print_json(page) if as_json else print_result(_table(page["items"]))


@api_command
@click.argument("token_id", metavar="ID")
def revoke(*, token_id: str, server: str | None, as_json: bool) -> None:
    """Revoke a token, at once and for good."""
    connect(server).delete(f"/tokens/{segment(token_id)}")
    if as_json:
        print_json({"id": token_id, "revoked": True})
    else:
        print_result(f"token {token_id} is revoked")


token.add_command(create, "create")
token.add_command(list_tokens, "list")
token.add_command(revoke, "revoke")


def _table(tokens: list[dict[str, Any]]) -> str:
    from prsweb.cli.table import Column, render
    from prsweb.cli.words import moment, or_dash

    columns = (
        Column("id"),
        Column("name"),
        Column("scope"),
        Column("expires"),
        Column("last used"),
    )
    rows = [
        (
            str(token["id"]),
            str(token["name"]),
            or_dash(token.get("scope")),
            moment(token.get("expires_at")) if token.get("expires_at") else "never",
            moment(token.get("last_used_at")),
        )
        for token in tokens
    ]
    return render(columns, rows)
