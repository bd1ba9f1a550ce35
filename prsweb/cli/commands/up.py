"""``prs up``: the whole system on one machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from prsweb.cli.console import print_result
from prsweb.cli.up.options import UpOptions
from prsweb.paths import prsweb_home


def system_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ``up`` and ``demo`` share."""
    options = (
        click.option(
            "--nodes",
            type=click.IntRange(min=1),
            default=2,
            show_default=True,
            help="Simulated nodes on this machine.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=8000,
            show_default=True,
            help="Port of the pages; 0 takes a free one.",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            help="Address to listen on. On any but this machine's own, inputs lie "
            "only where PRSWEB_INPUT_ROOTS says.",
        ),
        click.option(
            "--vcpus",
            type=click.IntRange(min=1),
            help="vCPUs of each node.  [default: cores / nodes]",
        ),
        click.option(
            "--memory",
            type=click.IntRange(min=1),
            metavar="MIB",
            help="Memory of each node.  [default: 90 % / nodes]",
        ),
        click.option(
            "--gpus",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="GPUs of each node.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@system_options
def up(
    *, nodes: int, port: int, host: str, vcpus: int | None, memory: int | None, gpus: int
) -> int:
    """Run the whole system on this machine, in the foreground.

    Prints its address and a one-time sign-in link. Ctrl-C stops it: nothing is
    left running.
    """
    from prsweb.cli.up.system import System

    options = UpOptions(
        nodes=nodes, port=port, host=host, vcpus=vcpus, memory_mib=memory, gpus=gpus
    )
    return System(prsweb_home(), options, announce=print_result).run()
