"""``prs sign-in``: a fresh one-time link."""

from __future__ import annotations

from prsweb.cli.client import connect
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.shared_options import api_command


@api_command
def sign_in(*, server: str | None, as_json: bool) -> None:
    """Print a link that signs you in once, within 10 minutes."""
    link = connect(server).post("/sign-in-links")
    if as_json:
        print_json(link)
        return
    print_result(str(link["url"]))
    say("It works once, within 10 minutes.")
