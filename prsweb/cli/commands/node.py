"""``prs node``: one more node."""

from __future__ import annotations

import re

import click

from prsweb.cli.failure import CommandFailed
from prsweb.paths import prsweb_home

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


@click.command()
@click.option("--name", required=True, help="Its name in every path, page and field.")
@click.option("--vcpus", type=click.IntRange(min=1), help="vCPUs.  [default: all cores]")
@click.option(
    "--memory", type=click.IntRange(min=1), metavar="MIB", help="Memory.  [default: 90 %]"
)
@click.option("--gpus", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--address", help="Address for other nodes.  [default: the one that reaches Redis]"
)
def node(
    *, name: str, vcpus: int | None, memory: int | None, gpus: int, address: str | None
) -> int:
    """Run one more node, in the foreground, until Ctrl-C.

    It joins the ./prs up of this PRSWEB_HOME, or what PRSWEB_REDIS_URL names;
    nodes of several machines share PRSWEB_HOME.
    """
    from prsweb.cli.up.extra_node import ExtraNode
    from prsweb.cli.up.options import share_of_machine

    if not NAME.fullmatch(name):
        raise CommandFailed(
            f"--name {name}: must be letters, digits, - and _, beginning with a letter or digit"
        )
    size = share_of_machine(1, vcpus, memory, gpus)
    return ExtraNode(prsweb_home(), name, size, address).run()
