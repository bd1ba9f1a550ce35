"""``prs key``: access keys of the Batch API."""

from __future__ import annotations

import click

from prsweb.cli.client import ApiClient, ApiRefused, connect, segment
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import CommandFailed
from prsweb.cli.shared_options import api_command


class NoBatchApi(CommandFailed):
    def __init__(self) -> None:
        super().__init__(
            "this server has no Batch API yet, so there are no access keys; "
            "./prs token create makes a token for the REST API",
            code="unavailable",
        )


@click.group()
def key() -> None:
    """Make, list and revoke access keys for the Batch API."""


@api_command
@click.option("--name", default="command line", show_default=True, help="What it is for.")
def create(*, name: str, server: str | None, as_json: bool) -> None:
    """Make an access key; its secret is shown only now."""
    client = connect(server)
    _require_keys(client)
    new = client.post("/keys", {"name": name})
    if as_json:
        print_json(new)
        return
    print_result(
        f"AWS_ACCESS_KEY_ID={new['access_key_id']}\n"
        f"AWS_SECRET_ACCESS_KEY={new['secret_access_key']}\n"
        f"AWS_ENDPOINT_URL={new['endpoint_url']}"
    )
    say(f"key {new['id']} ({new['name']}); the secret is not shown again")


@api_command
def list_keys(*, server: str | None, as_json: bool) -> None:
    """List your access keys."""
    client = connect(server)
    _require_keys(client)
    page = client.list_page("/keys")
    if as_json:
        print_json(page)
        return
    for item in page["items"]:
        print_result(f"{item['id']}  {item['access_key_id']}  {item['name']}")


@api_command
@click.argument("key_id", metavar="ID")
def revoke(*, key_id: str, server: str | None, as_json: bool) -> None:
    """Revoke an access key, at once and for good."""
    client = connect(server)
    _require_keys(client)
    client.delete(f"/keys/{segment(key_id)}")
    if as_json:
        print_json({"id": key_id, "revoked": True})
    else:
        print_result(f"key {key_id} is revoked")


key.add_command(create, "create")
key.add_command(list_keys, "list")
key.add_command(revoke, "revoke")


def _require_keys(client: ApiClient) -> None:
    """Raise NoBatchApi where there are none."""
    try:
        client.list_page("/keys", limit=1)
    except ApiRefused as refused:
        if refused.http_status == 404:
            raise NoBatchApi from refused
        raise
