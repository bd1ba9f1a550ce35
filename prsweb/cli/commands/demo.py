"""``prs demo``: everything, with sample jobs on real data."""

from __future__ import annotations

import click

from prsweb.cli.commands.up import system_options
from prsweb.cli.console import print_json, print_result, say
from prsweb.cli.failure import DONE, ENDED_BADLY, INTERRUPTED, CommandFailed
from prsweb.paths import prsweb_home


@click.command()
@system_options
@click.option("--exit", "ends", is_flag=True, help="Stop everything when the jobs have ended.")
@click.option("--json", "as_json", is_flag=True, help="With --exit: print the jobs as JSON.")
def demo(
    *,
    nodes: int,
    port: int,
    host: str,
    vcpus: int | None,
    memory: int | None,
    gpus: int,
    ends: bool,
    as_json: bool,
) -> int:
    """Start everything, run the sample jobs.

    It says where their results lie.

    With --exit it ends 0 only if all of them succeeded; without it the system
    stays up until Ctrl-C.
    """
    from prsweb.cli.demo import LEAST_NODES, Demo
    from prsweb.cli.up.options import UpOptions
    from prsweb.cli.up.system import System

    if as_json and not ends:
        raise CommandFailed("--json shows how the jobs ended: it needs --exit")
    if nodes < LEAST_NODES:
        raise CommandFailed(
            f"the sample jobs run on {LEAST_NODES} nodes: give --nodes {LEAST_NODES} or more"
        )
    announce = say if as_json else print_result
    options = UpOptions(
        nodes=nodes, port=port, host=host, vcpus=vcpus, memory_mib=memory, gpus=gpus
    )
    run = Demo(ends_system=ends, announce=announce)
    status = System(prsweb_home(), options, announce=announce, companion=run).run()
    if not ends:
        return status
    if as_json and run.result is not None:
        print_json(run.result)
    if run.failure is not None:
        raise run.failure
    if run.result is None:
        return INTERRUPTED
    return DONE if run.has_succeeded else ENDED_BADLY
