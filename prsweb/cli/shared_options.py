"""The options that commands have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def api_command(command: Callable[..., Any]) -> click.Command:
    """Make a command that talks to a server: adds ``--server`` and ``--json``."""
    command = click.option(
        "--json", "as_json", is_flag=True, help="Print the API's answer as one JSON value."
    )(command)
    command = click.option(
        "--server",
        metavar="URL",
        help="Server to talk to.  [default: PRSWEB_SERVER, else "
        "the one of ./prs up on this machine]",
    )(command)
    return click.command()(command)


def set_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a value of the job, as --set run_max_try=5. May be repeated.",
    )(command)


job_argument = click.argument("job", metavar="JOB")
